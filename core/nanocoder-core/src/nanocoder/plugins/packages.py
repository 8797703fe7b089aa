"""The packages that nanocoder's own index has, each with what it offers, installed or not.

So a message can say which package brings what is missing. `nox -s table` writes the list.
"""

import json
import os
from functools import cache
from typing import Any

INSTALLER = "plugins install"
"""The command that installs packages, by its name."""


@cache
def _index() -> dict[str, Any]:
    """Return the names of all packages, and by kind and name who offers what.

    The hints say by a provider's name how to get a model that needs neither a key nor a server.
    """
    with open(os.path.join(os.path.dirname(__file__), "packages.json"), encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def known_packages() -> frozenset[str]:
    """Return the names of all packages that nanocoder's own index has."""
    return frozenset(_index()["packages"])


def known_hints() -> list[str]:
    """Return the known packages' hints to get a model that needs neither a key nor a server."""
    return list(_index()["hints"].values())


def package_with(kind: str, name: str) -> str:
    """Return the package of ours that offers *name*, or a group of commands of that name, or ""."""
    offers = _index()["offers"].get(kind, {})
    return next((offers[offer] for offer in offers if f"{offer} ".startswith(f"{name} ")), "")


def way_to_install(kind: str, name: str) -> str:
    """Return the command that installs what offers *name*, "" where no package of ours does."""
    package = package_with(kind, name)
    hint = _index()["hints"].get(name, "") if kind == "providers" else ""
    # What installs packages cannot be installed by itself.
    is_installer = package == package_with("commands", INSTALLER)
    installer = "pip install" if is_installer else f"nanocoder {INSTALLER}"
    return hint.partition("\n")[0] or (f"{installer} {package}" if package else "")
