"""The index of nanocoder's own packages and their offers, installed or not.

It lets a message name the package to install. `nox -s table` writes the list.
"""

import json
import os
from functools import cache
from typing import Any

INSTALLER = "plugins install"
"""The name of the command that installs packages."""


@cache
def _index() -> dict[str, Any]:
    """Return the names of all packages, the package of each offer by kind and name, and hints.

    A hint tells, by a provider's name, how to get a model without a key or a server.
    """
    with open(os.path.join(os.path.dirname(__file__), "packages.json"), encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def known_packages() -> dict[str, str]:
    """Return all packages of nanocoder's own index, by the names of their plugins, and their own.

    Names are without the prefix "nanocoder-"; a package may have several plugins.
    """
    return _index()["packages"]  # type: ignore[no-any-return]


def known_hints() -> list[str]:
    """Return the known packages' hints to get a model that needs neither a key nor a server."""
    return list(_index()["hints"].values())


def package_with(kind: str, name: str) -> str:
    """Return our package that offers *name*, or a group of commands of that name, else ""."""
    offers = _index()["offers"].get(kind, {})
    return next((offers[offer] for offer in offers if f"{offer} ".startswith(f"{name} ")), "")


def way_to_install(kind: str, name: str) -> str:
    """Return the command that installs the package with *name*, or "" if none of ours has it."""
    package = package_with(kind, name)
    hint = _index()["hints"].get(name, "") if kind == "providers" else ""
    # The installer cannot install itself.
    is_installer = package == package_with("commands", INSTALLER)
    installer = "pip install" if is_installer else f"nanocoder {INSTALLER}"
    return hint.partition("\n")[0] or (f"{installer} {package}" if package else "")
