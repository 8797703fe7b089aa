"""Plugin sets: metapackages whose dependencies say which plugins belong together."""

import os
import re

from nanocoder.errors import UsageError
from nanocoder.plugins.discovery import site_directories
from nanocoder.text import nearest

PREFIX = "nanocoder_set_"


def installed_sets() -> dict[str, str]:
    """Return each installed set's name and its METADATA file."""
    found: dict[str, str] = {}
    for site in site_directories():
        if not os.path.isdir(site):
            continue
        for name in sorted(os.listdir(site)):
            if name.startswith(PREFIX) and name.endswith(".dist-info"):
                short = name.removeprefix(PREFIX).split("-")[0].replace("_", "-")
                found.setdefault(short, os.path.join(site, name, "METADATA"))
    return found


def members_of(name: str) -> frozenset[str]:
    """Return the distributions that the set *name* requires.

    Raises UsageError when it is not installed.
    """
    sets = installed_sets()
    if name not in sets:
        close = nearest(name, sets)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise UsageError(f"there is no set {name!r}{hint} Installed: {', '.join(sets) or 'none'}")
    with open(sets[name], encoding="utf-8") as file:
        lines = file.read().splitlines()
    wanted = [
        line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")
    ]
    return frozenset(
        re.split(r"[ ;<>=!~\[(]", one, maxsplit=1)[0].lower().replace("_", "-") for one in wanted
    )
