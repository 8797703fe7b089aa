"""Files that a walk leaves out because a policy does not let them be read."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nanocoder_files.errors import WorkspaceError
from nanocoder_files.readable import Readable

MAX_PATHS_KEPT = 10_000
MAX_CUT_NAMED = 3


class LeftOut:
    """The files and folders that policies keep out of walks; hand one to several walks to add up.

    *files* and *folders* are paths relative to the workspace, the first 10,000 of each. A
    folder that is left out is not looked into, so its files are not counted. *unreadable* are
    folders that the system does not let be read, *cut* files with rules of git of which only the
    beginning counts.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.folders: list[str] = []
        self.unreadable: list[str] = []
        self.cut: list[str] = []

    def add(self, paths: list[str], path: str) -> None:
        """Take note of a *path* in *paths*, one of the three lists."""
        if len(paths) < MAX_PATHS_KEPT:
            paths.append(path)

    def note(self, is_wanted: Callable[[str], bool] | None = None) -> str:
        """Return lines about the files that *is_wanted* (None: all), folders and cut files."""
        lines = [_note(**self.data(is_wanted))]
        lines += [f"[{path} is too long: only its first patterns count]" for path in self.cut]
        return "\n".join(filter(None, lines))

    def metadata(self, is_wanted: Callable[[str], bool] | None = None) -> dict[str, Any]:
        """Return how many were left out as `left_out` of a result's metadata, or nothing."""
        data = self.data(is_wanted)
        return {"left_out": data} if any(data.values()) else {}

    def data(self, is_wanted: Callable[[str], bool] | None = None) -> dict[str, int]:
        """Return how many *files* and *folders* were left out."""
        files = self.files if is_wanted is None else filter(is_wanted, self.files)
        return {"files": len(set(files)), "folders": len(set(self.folders))}


class WalkFilter:
    """What one walk lets pass; with *asks* it leaves out what a person has to agree to."""

    def __init__(self, readable: Readable, left_out: LeftOut | None, *, asks: bool) -> None:
        self._readable = readable
        self._asks = asks
        self._left_out = left_out

    def refused(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return those of the *names* in *folder* ("." for the root) that are left out."""
        where = "" if folder == "." else folder
        return self._readable.left_out(where, names, asks=self._asks)

    def passes(self, path: str) -> bool:
        """Tell whether a walk gets to *path*, which has no link in it."""
        return not (self._readable.refuses(path) or (self._asks and self._readable.asks(path)))

    def note(self, folder: str, names: Iterable[str], *, are_folders: bool = False) -> None:
        """Take note of what was left out of *folder*."""
        if self._left_out is not None:
            prefix = "" if folder == "." else f"{folder}/"
            left_out = self._left_out
            for name in names:
                left_out.add(left_out.folders if are_folders else left_out.files, prefix + name)

    def note_cut(self, paths: Iterable[str]) -> None:
        """Take note of files with rules of git of which only the beginning counts."""
        if self._left_out is not None:
            self._left_out.cut = list(dict.fromkeys([*self._left_out.cut, *paths]))[:MAX_CUT_NAMED]

    def note_unreadable(self, folder: str, name: str) -> None:
        """Take note of a folder *name* in *folder* that could not be opened."""
        if self._left_out is not None:
            path = name if folder == "." else f"{folder}/{name}"
            self._left_out.add(self._left_out.unreadable, path)


UNFILTERED = WalkFilter(Readable(), None, asks=False)


def read_denied(path: str, reason: str) -> WorkspaceError:
    """Return the error for a path that a policy does not let be read."""
    return WorkspaceError(f"'{path}' may not be read: {reason}", error_class="read_denied")


def _note(files: int, folders: int) -> str:
    counts = [(files, "file"), (folders, "folder")]
    texts = [f"{number:,} {noun}{'s' * (number != 1)}" for number, noun in counts if number]
    return f"[{' and '.join(texts)} left out by rules]" if texts else ""
