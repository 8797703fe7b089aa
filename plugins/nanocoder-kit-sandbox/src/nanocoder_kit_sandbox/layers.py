"""Changes that a program wrote to a temporary layer over a directory (an overlay)."""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from nanocoder_kit_process.trees import walk

from nanocoder_kit_sandbox.unchanged import listed

MAX_FILES: Final = 10_000
"""So many changed files are counted."""
MAX_NAMES: Final = 5
_SHOWN_CHARS: Final = 200
"""So many characters of a path are shown."""
TMP: Final = "/tmp/"  # noqa: S108 - a folder of the session is seen there
BESIDE: Final = "written to the /tmp of this session, not to that of the machine"
CACHE_TAG: Final = "CACHEDIR.TAG"
"""The file that marks a folder as a cache: https://bford.info/cachedir/."""


def changed_files(upper: str) -> list[str]:
    """Return the paths of the files that the layer *upper* makes, changes or removes, sorted."""
    return sorted(islice(_changed_paths(upper), MAX_FILES))


def describe_changes(paths: list[str]) -> str:
    """Return a line that says which files of a read-only workspace would have changed."""
    more = len(paths) - MAX_NAMES
    rest = f" ({more}{'+' if len(paths) == MAX_FILES else ''} more)" if more > 0 else ""
    names = ", ".join(map(clip_path, paths[:MAX_NAMES]))
    return f"the workspace is read-only in this mode; these files would have changed: {names}{rest}"


def clip_path(path: str) -> str:
    """Return a path as a message shows it, a long one without its middle."""
    half = _SHOWN_CHARS // 2
    return path if len(path) <= _SHOWN_CHARS else f"{path[:half]}...{path[-half:]}"


class OwnTmp:
    """The folder *tmp* of a session, which programs see as /tmp, around a workspace at *root*.

    A workspace below /tmp is the machine's, and what a program writes beside it is not.
    """

    def __init__(self, tmp: Path, root: str) -> None:
        self._tmp, self._root = str(tmp), root
        self._told: set[str] = set()

    def describe_new(self) -> list[str]:
        """Return a line that names each new file beside the workspace once, or none."""
        if not self._root.startswith(TMP):
            return []
        paths = set(islice(self._files(), MAX_FILES))
        new = sorted(paths - self._told)
        self._told |= paths
        more = f" ({len(new) - MAX_NAMES} more)" if len(new) > MAX_NAMES else ""
        return [f"{BESIDE}: {', '.join(map(clip_path, new[:MAX_NAMES]))}{more}"] if new else []

    def _files(self) -> Iterator[str]:
        """Yield the files of /tmp itself, and all below the folder that leads to the workspace."""
        yield from _filled_files(self._tmp, self._tmp)
        above = self._root.removeprefix(TMP).partition("/")[0]
        for top, _, _ in walk(f"{self._tmp}/{above}"):
            yield from _filled_files(top, self._tmp)


def _filled_files(folder: str, tmp: str) -> Iterator[str]:
    """Yield the paths of files in *folder*; an empty one may be the place of a mount."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and entry.stat().st_size:
                yield f"{TMP}{entry.path[len(tmp) + 1 :]}"


def _changed_paths(upper: str) -> Iterator[str]:
    for top, folders, files in walk(upper):
        prefix = f"{top}/"[len(upper) + 1 :]
        # Nobody would miss a cache.
        folders[:] = [each for each in folders if not os.path.lexists(f"{top}/{each}/{CACHE_TAG}")]
        yield from (prefix + name for name in files)
        for name in folders:
            if not listed(f"{top}/{name}"):
                yield f"{prefix}{name}/"  # also one that its mode closes
