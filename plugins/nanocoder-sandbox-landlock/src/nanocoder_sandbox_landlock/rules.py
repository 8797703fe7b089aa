"""Landlock rules of a command: they only grant rights, and only on existing paths.

So a folder that holds something protected gets no right that holds for all below it; what
surrounds it gets rights of its own.
"""

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from nanocoder_kit_sandbox.hidden import EMPTY_PLACES
from nanocoder_kit_sandbox.survey import ancestors
from nanocoder_kit_sandbox.unchanged import Unchanged, listed

from nanocoder_sandbox_landlock import kernel

Rule = tuple[str, int]
DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_KEPT: Final = 16
"""For so many sets of paths their folders are kept: one command has the same ones as the next."""
ROOM: Final = kernel.READ_DIR | kernel.EXECUTE


class Protected(NamedTuple):
    """Absolute paths: *denied* cannot be changed, *secret* ones cannot be read either."""

    denied: frozenset[str]
    secret: frozenset[str]


class SystemRules:
    """The rights to read all of the system but some paths.

    A folder that did not change is not listed again.
    """

    def __init__(self) -> None:
        self._rules = Unchanged(_rules_in)

    def rules(self, hidden: Iterable[str], readable: Iterable[str]) -> Iterator[Rule]:
        """Yield the rights to read all but *hidden* paths, and *readable* ones below them."""
        yield from self._surroundings("/", frozenset((*hidden, *EMPTY_PLACES)))
        for path in readable:
            yield (path, kernel.READ if os.path.isdir(path) else kernel.READ & kernel.OF_FILES)
        for name in DEVICES:
            yield (f"/dev/{name}", kernel.READ_FILE | kernel.WRITE_FILE)

    def _surroundings(self, folder: str, hidden: frozenset[str]) -> Iterator[Rule]:
        above = _above(hidden)
        queue = [folder]
        while queue:
            try:
                rules = self._rules.of(queue.pop())
            except OSError:  # gone meanwhile
                continue
            for rule in rules:
                if rule[0] in hidden:
                    continue
                if rule[0] in above:
                    queue.append(rule[0])
                else:
                    yield rule


def _rules_in(folder: str) -> tuple[Rule, ...]:
    return tuple(
        (path, kernel.READ if is_folder else kernel.READ & kernel.OF_FILES)
        for path, is_folder in _entries(folder)
    )


def rules_of_workspace(root: str, protected: Protected, change: int) -> Iterator[Rule]:
    """Yield the rights in the workspace at *root*, the outer folders first.

    *change* are the rights by which something there can be changed.
    """
    above, above_secret = _above(protected.denied | protected.secret), _above(protected.secret)
    queue = [root]
    while queue:
        folder = queue.pop()
        yield (folder, ROOM | (0 if folder in above_secret else kernel.READ_FILE))
        for path, is_folder in _entries(folder):
            if path in protected.secret:
                continue
            if path in above and is_folder:
                queue.append(path)
                continue
            rights = kernel.READ if path in protected.denied else kernel.READ | change
            yield (path, rights if is_folder else rights & kernel.OF_FILES)


def mixed_folders(root: str, protected: Protected) -> list[str]:
    """Return the folders of the workspace that hold something protected, at whatever depth."""
    above = _above(protected.denied | protected.secret)
    return sorted({root, *(path for path in above if path.startswith(f"{root}/"))})


@lru_cache(_KEPT)
def _above(paths: frozenset[str]) -> frozenset[str]:
    outer = ancestors(tuple(path.lstrip("/") for path in paths))
    return frozenset(("/", *(f"/{path}" for path in outer)))


def _entries(folder: str) -> Iterator[tuple[str, bool]]:
    """Yield each path in a folder, and whether it is a folder; links are what they lead to."""
    for entry in listed(folder):  # nothing is granted in one that cannot be listed
        if not entry.is_symlink():
            yield entry.path, entry.is_dir(follow_symlinks=False)
