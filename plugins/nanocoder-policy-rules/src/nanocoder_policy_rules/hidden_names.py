"""What no command may read: by its name, by a wildcard, or by going through a folder above it."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from nanocoder_policy_rules.candidates import WILD
from nanocoder_policy_rules.shell import compile_once

if TYPE_CHECKING:
    from nanocoder_policy_rules.reach import Reach

_CLASSES = r"\[\[:[a-z]+:\]\]|\[[^\]\s]*\[:[a-z]+:\][^\]\s]*\]"
MAX_FOLDERS: Final = 2_000
MAX_NAMES: Final = 100_000
MAX_FOUND: Final = 100


def expand(words: Iterable[str], reach: "Reach", folders: Sequence[str]) -> list[str] | None:
    """Return the hidden names that *words* with wildcards stand for; None if that takes too long.

    *folders* are where the command may be, relative to its start.
    """
    budget = _Budget()
    paths = [
        path
        for word in words
        for folder in (folders if word[0] != "/" else folders[:1])
        for path in _matches(os.path.join(folder, word).split("/"), "", reach, budget)
    ]
    return None if budget.is_over else paths[:MAX_FOUND]


class _Budget:
    """How much may still be looked at."""

    def __init__(self) -> None:
        self.folders = MAX_FOLDERS
        self.names = MAX_NAMES

    @property
    def is_over(self) -> bool:
        return self.folders < 0 or self.names < 0


def _matches(parts: Sequence[str], start: str, reach: "Reach", budget: _Budget) -> Iterator[str]:
    """Yield the hidden paths below *start* that *parts* match."""
    fixed = next((at for at, part in enumerate(parts) if not WILD.isdisjoint(part)), len(parts))
    here = "/".join([start, *parts[:fixed]]) if start else "/".join(parts[:fixed])
    if fixed == len(parts):
        if reach.is_hidden(here):
            yield here
        return
    here = here or ("/" if fixed else "")
    folder = os.path.join(reach.folder, here)
    names = _names(folder, budget)
    matching = [name for name in names if _fits(name, parts[fixed])]
    rest = parts[fixed + 1 :]
    hidden = reach.hidden_among(folder, matching)
    yield from (os.path.join(here, name) for name in matching if name in hidden)
    if rest:
        for name in matching:
            path = os.path.join(here, name)
            is_open = name not in hidden and not budget.is_over
            if is_open and os.path.isdir(os.path.join(reach.folder, path)):
                yield from _matches(rest, path, reach, budget)


def _names(folder: str, budget: _Budget) -> list[str]:
    budget.folders -= 1
    if budget.is_over:
        return []
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MAX_NAMES)]
    except (OSError, ValueError):  # missing, no folder, unreadable, or not a valid name
        return []
    budget.names -= len(names)
    return names


def _fits(name: str, pattern: str) -> bool:
    if name[:1] == "." and pattern[:1] not in {".", "["}:
        return False
    return _expression(pattern).fullmatch(name) is not None


def _expression(pattern: str) -> re.Pattern[str]:
    """Return an expression for what a shell expands *pattern* to, or for more."""
    from fnmatch import translate

    plain = compile_once(_CLASSES).sub("?", pattern).replace("[^", "[!")
    return re.compile(translate(plain))
