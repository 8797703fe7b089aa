"""The packages that nanocoder's own index has, each with what it offers, installed or not.

So a message can say which package brings what is missing. `nox -s table` writes the list.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

INSTALLER = "plugins install"
"""The command that installs packages, by its name."""


class Offered(NamedTuple):
    """Something that a package offers: its *kind* ("tools", "commands" …), and its *name*.

    *hint* says how to get a model that needs neither a key nor a server.
    """

    package: str
    kind: str
    name: str
    hint: str


def known_packages() -> frozenset[str]:
    """Return the names of all packages that nanocoder's own index has."""
    return frozenset(row.package for row in _rows())


def known_offers(kind: str) -> list[Offered]:
    """Return what the known packages offer of one *kind*."""
    return [row for row in _rows() if row.kind == kind]


def package_with(kind: str, name: str) -> str:
    """Return the package of ours that offers *name*, or a group of commands of that name, or ""."""
    names = ((f"{offer.name} ", offer.package) for offer in known_offers(kind))
    return next((package for offered, package in names if offered.startswith(f"{name} ")), "")


def way_to_install(kind: str, name: str) -> str:
    """Return the command that installs what offers *name*, "" where no package of ours does."""
    package = package_with(kind, name)
    hint = next((offer.hint for offer in known_offers(kind) if offer.name == name), "")
    # What installs packages cannot be installed by itself.
    is_installer = package == package_with("commands", INSTALLER)
    installer = "pip install" if is_installer else f"nanocoder {INSTALLER}"
    return hint.partition("\n")[0] or (f"{installer} {package}" if package else "")


def _rows() -> Iterator[Offered]:
    """Yield a row for each package, and a row for each thing that one offers."""
    with open(os.path.join(os.path.dirname(__file__), "packages.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            package, kind, name, *hint = [*line.split("\t"), "", ""]
            yield Offered(package, kind, name, "\n".join(filter(None, hint)))
