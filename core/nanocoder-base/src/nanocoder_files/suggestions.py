"""Existing paths to suggest in the error about a missing one."""

import os
from collections import deque
from collections.abc import Iterator
from typing import Final

from nanocoder_schema import nearest

from nanocoder_files.beneath import LISTING, Beneath
from nanocoder_files.paths import WorkspaceError, escape_path
from nanocoder_files.private_files import closing_file
from nanocoder_files.protected import fold_name
from nanocoder_files.readable import Readable

MAX_NAMES: Final = 2_000
MAX_FOLDERS: Final = 100
"""A directory with more subdirectories holds downloaded files; these are not searched."""
NEAREST: Final = 3


def similar_paths(root: Beneath, readable: Readable, raw: str) -> list[str]:
    """Return paths that *raw* may mean: with another case or prefix, else similar ones."""
    target = _fold(raw)
    folded = {_fold(path): path for path in _paths(root, readable, target)}
    same = [name for name in folded if f"/{name}".endswith(f"/{target}")]
    return [escape_path(folded[name]) for name in (same or nearest(target, folded))[:NEAREST]]


def _paths(root: Beneath, readable: Readable, target: str) -> Iterator[str]:
    """Yield readable paths: first along the way to *target*, then level by level."""
    waiting, count = deque([""]), 0
    while waiting and count < MAX_NAMES:
        folder = waiting.popleft()
        try:
            fd = root.open(folder or ".", LISTING)[0]
            with closing_file(fd), os.scandir(fd) as entries:
                items = sorted((each.name, each.is_dir(follow_symlinks=False)) for each in entries)
        except (OSError, WorkspaceError):
            continue
        names = [escape_path(name) for name, _ in items]
        hidden = {".git", *readable.left_out(escape_path(folder), names, asks=True)}
        below = []
        for name, is_dir in items[: MAX_NAMES - count]:
            if escape_path(name) in hidden:
                continue
            path, count = f"{folder}/{name}" if folder else name, count + 1
            yield path
            if is_dir and f"{target}/".startswith(f"{_fold(path)}/"):
                waiting.appendleft(path)
            elif is_dir and not name.startswith("."):
                below.append(path)
        waiting += below if len(below) <= MAX_FOLDERS else []


def _fold(path: str) -> str:
    return "/".join(map(fold_name, path.split("/")))
