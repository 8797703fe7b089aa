"""Expand words with wildcards as a shell does, to names on the disk.

Only names that begin with a letter are expanded, as in `.g*/config` and `id_r?a`: `*` and `.*` hide
no particular name.
"""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from nanocoder_policy_rules.candidates import WILD, names_something

_MAX_NAMES: Final = 2_000
_MAX_MATCHES: Final = 200
_MAX_PARTS: Final = 16
_MAX_FOLDERS: Final = 200


def expand(words: Sequence[str], folder: str, entered: Sequence[str]) -> list[str]:
    """Return the paths that *words* expand to in *folder*, or in one that is *entered* from it."""
    wild = [word for word in words if not WILD.isdisjoint(word) and names_something(word)]
    if not wild:
        return []
    budget = iter(range(_MAX_FOLDERS))
    paths = (
        os.path.join(directory, path)
        for directory in ("", *entered)
        for word in wild
        if word.count("/") < _MAX_PARTS
        for path in _matches(word.split("/"), os.path.join(folder, directory), budget)
    )
    return list(islice(paths, _MAX_MATCHES))


def _matches(parts: Sequence[str], folder: str, budget: Iterator[int]) -> Iterator[str]:
    """Yield the paths below *folder* that match *parts*; parts without a wildcard need not exist.

    Each folder that is listed takes one of the *budget*.
    """
    fixed = next((at for at, part in enumerate(parts) if not WILD.isdisjoint(part)), len(parts))
    start = "/".join(parts[:fixed]) or ("/" if fixed else "")
    if fixed == len(parts):
        yield start
        return
    if next(budget, None) is None:
        return
    for name in _names(os.path.join(folder, start)):
        is_hidden = name.startswith(".") and not parts[fixed].startswith(".")
        if not is_hidden and fnmatchcase(name, parts[fixed]):
            path = os.path.join(start, name)
            rest = parts[fixed + 1 :]
            below = _matches(rest, os.path.join(folder, path), budget) if rest else iter(("",))
            yield from (os.path.join(path, each) if each else path for each in below)


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MAX_NAMES)]
    except (OSError, ValueError):  # missing, no folder, unreadable, or not a valid name
        return []
