"""Changes that a program wrote to a temporary layer over a directory (an overlay)."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from nanocoder_kit_sandbox.unchanged import listed

MAX_FILES: Final = 10_000
"""So many changed files are counted."""
MAX_NAMES: Final = 5
CACHE_TAG: Final = "CACHEDIR.TAG"
"""The file that marks a folder as a cache: https://bford.info/cachedir/."""


def changed_files(upper: str) -> list[str]:
    """Return the paths of the files that the layer *upper* makes, changes or removes, sorted."""
    return sorted(islice(_changed_paths(upper), MAX_FILES))


def describe_changes(paths: list[str]) -> str:
    """Return a line that says which files of a read-only workspace would have changed."""
    more = len(paths) - MAX_NAMES
    rest = f" ({more}{'+' if len(paths) == MAX_FILES else ''} more)" if more > 0 else ""
    names = ", ".join(paths[:MAX_NAMES])
    return f"the workspace is read-only in this mode; these files would have changed: {names}{rest}"


def _changed_paths(upper: str) -> Iterator[str]:
    for top, folders, files in os.walk(upper):
        prefix = f"{top}/"[len(upper) + 1 :]
        # Nobody would miss a cache.
        folders[:] = [each for each in folders if not os.path.lexists(f"{top}/{each}/{CACHE_TAG}")]
        yield from (prefix + name for name in files)
        for name in folders:
            if os.path.islink(f"{top}/{name}") or not listed(f"{top}/{name}"):
                yield f"{prefix}{name}/"  # also one that its mode closes
