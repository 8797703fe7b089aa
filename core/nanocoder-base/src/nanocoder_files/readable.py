"""Filters of the paths of a workspace that may be read: of one policy, and of all combined."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

MAX_FOLDERS_KNOWN = 10_000
MAX_PATH_CHARS = 4_096
"""No system opens a longer path, and checking each directory of one would take minutes."""


class PathFilter:
    """A policy's filter of the paths that may not be read; a policy derives its own class.

    A path is relative to the workspace, separated by "/" and with its links resolved. A refused
    directory is refused with everything below it. The same path always gets the same answer: after
    a change of the settings the core asks for another filter.
    """

    def refuses(self, path: str) -> str:  # noqa: ARG002 - nothing is refused here
        """Return the reason why *path* may not be read, or "" if it may."""
        return ""

    def asks(self, path: str) -> str:  # noqa: ARG002
        """Return the reason why reading *path* needs approval, or "" if it needs none.

        A search omits such a path unless it starts there.
        """
        return ""

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:  # noqa: ARG002
        """Return those of the *names* in *folder* ("" for the root) that may be refused.

        Only these are then checked one by one. Override this if most names are readable: a search
        walks tens of thousands of files.
        """
        return names

    def read_only(self, folder: str, names: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return those of the *names* in *folder* that no command may change, with the reasons.

        A sandbox keeps them, and everything below them, as they are.
        """
        return {}

    def outside(self) -> Iterable[str]:
        """Return absolute paths outside that commands may not read; a sandbox hides them.

        Only existing paths count.
        """
        return ()


class OwnFolders(PathFilter):
    """Refuses a program's own directories in the workspace, with everything below them.

    *folders* are relative to the workspace or absolute, *is_private* tells whether a path is in one
    of them, *reason* is the reason of the refusal.
    """

    def __init__(
        self, folders: Iterable[str], is_private: Callable[[str], bool], reason: str
    ) -> None:
        self.inside = {path.casefold() for path in folders if not path.startswith("/")}
        self._is_private = is_private
        self._reason = reason

    def refuses(self, path: str) -> str:
        """Return the reason for one of the directories, and for paths below them."""
        return self._reason if self._is_private(path) else ""

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:
        """Return the names of the directories: everything below is refused with them."""
        return [name for name in names if f"{folder}/{name}".lstrip("/").casefold() in self.inside]


class Closed(PathFilter):
    """Refuses every path, for *reason*."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def refuses(self, path: str) -> str:  # noqa: ARG002 - every path
        """Return the reason for which all paths are refused."""
        return self._reason


class Readable:
    """The combined read filter of a workspace: *filters* are pairs of a plugin's name and filter.

    One refusal is enough, and a failing filter refuses. Without filters all paths are readable.
    """

    def __init__(self, filters: Iterable[tuple[str, PathFilter]] = ()) -> None:
        self.filters = tuple(filters)
        # A cache per instance, freed with it.
        self._reason_above = lru_cache(MAX_FOLDERS_KNOWN)(self._reason_above)  # type: ignore[method-assign]

    def now(self) -> "Readable":
        """Return the current filter: for a search, which asks about thousands of paths.

        A subclass with changing answers returns another one here; the other methods use that.
        """
        return self

    def at(self, root: Path, *, is_own: bool = False) -> "Readable":  # noqa: ARG002 - for any root
        """Return the filter for another *root*, for paths relative to it.

        *root* may be a directory around the workspace, from which a plugin reads. *is_own*: it is
        one of nanocoder's own directories, whose files are otherwise refused.
        """
        return self

    def refuses(self, path: str) -> str:
        """Return the reason why *path*, or a directory above it, may not be read, or "".

        *path* is relative to the workspace with its links resolved, as `Workspace.resolve` returns.
        """
        return self.now().reason(path, "refuses")

    def asks(self, path: str) -> str:
        """Return the reason why reading *path* needs approval, or "" if it needs none."""
        return self.now().reason(path, "asks")

    def read_only(self, folder: str, names: Sequence[str]) -> dict[str, str]:
        """Return those of the *names* in *folder* that no command may change, with the reasons."""
        answers = (each.read_only(folder, names) for _, each in self.now().filters)
        return {name: reason for answer in answers for name, reason in answer.items()}

    def why_read_only(self, path: str) -> str:
        """Return the reason why no command may change *path*, or a directory above it, or ""."""
        names, filters = path.split("/"), self.now().filters
        places = [("/".join(names[:end]), [name]) for end, name in enumerate(names)]
        answers = [each.read_only(*place) for place in places for _, each in filters]
        return next((why for answer in answers for why in answer.values()), "")

    def outside(self) -> list[str]:
        """Return the absolute paths outside that commands may not read."""
        return [path for _, each in self.now().filters for path in each.outside()]

    def left_out(self, folder: str, names: Sequence[str], *, asks: bool) -> set[str]:
        """Return those of the *names* in the readable *folder* that a search omits.

        With *asks* this includes the ones that need approval.
        """
        prefix = f"{folder}/" if folder else ""
        return {
            name
            for plugin, each in self.now().filters
            for name in _suspects(each, folder, names)
            if _answer(plugin, each.refuses, prefix + name)
            or (asks and _answer(plugin, each.asks, prefix + name))
        }

    def reason(self, path: str, question: Literal["refuses", "asks"]) -> str:
        """Return the first answer to *question* for *path* and the directories above it."""
        if not self.filters or path == "." or len(path) > MAX_PATH_CHARS:
            return ""
        return self._reason_above(path.rpartition("/")[0], question) or self._reason(path, question)

    def _reason_above(self, folder: str, question: str) -> str:
        """Return the first answer for *folder* and those above it, except for the root."""
        names = folder.split("/") if folder else []
        folders = ("/".join(names[:end]) for end in range(1, len(names) + 1))
        return next(filter(None, (self._reason(above, question) for above in folders)), "")

    def _reason(self, path: str, question: str) -> str:
        answers = (_answer(plugin, getattr(each, question), path) for plugin, each in self.filters)
        return next(filter(None, answers), "")


def _answer(plugin: str, question: Callable[[str], str], path: str) -> str:
    try:
        reason = question(path)
    except Exception as error:  # noqa: BLE001 - a failing policy never opens a file
        return f"policy {plugin!r} failed: {type(error).__name__}: {error}"
    if isinstance(reason, str):
        return reason
    return f"policy {plugin!r} failed: it returned {type(reason).__name__}, expected str"


def _suspects(each: PathFilter, folder: str, names: Sequence[str]) -> Iterable[str]:
    try:
        return list(each.suspects(folder, names))
    except Exception:  # noqa: BLE001 - each name is then checked by itself
        return names
