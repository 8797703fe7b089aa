"""Packages: our own with what they offer, and the sets, which say what belongs together."""

import os
import re

from nanocoder_schema import did_you_mean

from nanocoder.errors import UsageError
from nanocoder.plugins.discovery import site_paths

PREFIX = "nanocoder_set_"
SET = "nanocoder-set-"


def installed_sets() -> dict[str, str]:
    """Return each installed set's name and its METADATA file."""
    metadata: dict[str, str] = {}
    for site in site_paths():
        if not os.path.isdir(site):
            continue
        for name in sorted(os.listdir(site)):
            if name.startswith(PREFIX) and name.endswith(".dist-info"):
                short = name.removeprefix(PREFIX).split("-")[0].replace("_", "-")
                metadata.setdefault(short, os.path.join(site, name, "METADATA"))
    return metadata


def known_packages() -> dict[str, list[tuple[str, str]]]:
    """Return the packages that nanocoder's own index has, each with the kinds and names it offers.

    None of them need be installed. `nox -s table` writes the file.
    """
    packages: dict[str, list[tuple[str, str]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "packages.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            package, *offer = line.split("\t")
            packages.setdefault(package, []).extend([(offer[0], offer[1])] if offer else [])
    return packages


def package_with(what: str, name: str) -> str:
    """Return the package of ours that offers *name* among its "tools", "commands" …, or nothing."""
    packages = known_packages().items()
    return next((package for package, offers in packages if (what, name) in offers), "")


def members_of(name: str) -> frozenset[str]:
    """Return the distributions that the set *name* requires, those of sets among them included.

    Raises UsageError when it is not installed.
    """
    sets = installed_sets()
    if name not in sets:
        hint = did_you_mean(name, sets, ".")
        raise UsageError(f"there is no set {name!r}{hint} Installed: {', '.join(sets) or 'none'}")
    members: set[str] = set()
    waiting = {f"{SET}{name}"}
    while waiting:
        distribution = waiting.pop()
        members.add(distribution)
        # Only sets are followed: what a plugin needs may be a plugin that the set leaves out.
        metadata = sets.get(distribution.removeprefix(SET), "")
        if distribution.startswith(SET) and metadata:
            waiting |= _required(metadata) - members
    return frozenset(members)


def _required(metadata: str) -> set[str]:
    """Return the distributions that a METADATA file requires, those of its extras included."""
    with open(metadata, encoding="utf-8") as file:
        lines = file.read().partition("\n\n")[0].splitlines()
    required = (line.partition("Requires-Dist: ")[2] for line in lines)
    names = (re.split(r"[ ;<>=!~\[(]", text, maxsplit=1)[0] for text in required if text)
    return {name.lower().replace("_", "-") for name in names}
