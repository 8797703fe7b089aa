"""The files that a session has read or changed, with their digests, and later changes."""

import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import nanocoder
from attrs import define, evolve
from nanocoder import Message, Readable, ToolError, ToolResult

if TYPE_CHECKING:
    from nanocoder import Workspace

CHANGED: Final = (
    "[Changed on the disk since they were last read: {}. Read them again before you rely on them.]"
)
MAX_SHOWN: Final = 20
MOST_FILES: Final = 200
"""Limit of the watched files, the latest read ones."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""Size limit of a hashed file; a larger one is compared by size and time."""

Version = tuple[int, int, int]


@define
class Snapshot:
    """One file as the session knows it: *version* is that at the time *seen_s*."""

    digest: str
    version: Version | None
    seen_s: float


class Seen:
    """The files below *root* as a session last saw them; methods may be called on any thread.

    Paths are resolved below the directory's file descriptor, as by tools: a link that leads out of
    it leads to nothing. *readable* is the read filter of the policies.
    """

    def __init__(
        self,
        root: Path,
        max_age_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        readable: Readable | None = None,
    ) -> None:
        self._root = root
        self._readable = readable
        self._opened: Workspace | None = None
        self._max_age_s = max_age_s
        self._clock = clock
        self._files = dict[str, Snapshot]()
        self._notes = dict[int, tuple[Message, Message]]()
        self._knows_the_past = False
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the directory's file descriptor."""
        with self._lock:
            opened, self._opened = self._opened, None
            if opened is not None:
                opened.close()

    def remember(self, result: ToolResult) -> None:
        """Take a snapshot of each file that *result* is about."""
        with self._lock:
            for path, stated in _files_of(result):
                self._files.pop(path, None)  # the latest come last
                version = self._version(path)
                if version is None:  # a folder, moved away, or not of this machine, as in a replay
                    self._forget_below(path)
                    continue
                digest = stated or self._digest(path, version)
                self._files[path] = Snapshot(digest, version, self._clock())
            # Each is checked after each call, and a long session reads thousands.
            for path in [*self._files][:-MOST_FILES]:
                del self._files[path]

    def note_of_changes(self) -> str:
        """Return the note on the changed files, or "" if there are none."""
        with self._lock:
            return _note([text for _, text in self._changed()])

    def with_notes(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return *messages* with a note on changed files after the last one, if that is a prompt.

        Notes of earlier requests stay at their messages. Returns *messages* itself if no file ever
        changed.
        """
        with self._lock:
            if not self._knows_the_past:
                self._record_past(messages)
            if messages and messages[-1].role == "user":
                changed = [text for path, text in self._changed() if _is_in_view(path, messages)]
                self._add(messages[-1], _note(changed))
            if not self._notes:
                return messages
            # By identity: a provider has encoded these very messages already.
            return [self._notes.get(id(message), (message, message))[1] for message in messages]

    def _add(self, message: Message, note: str) -> None:
        if note:
            _, longer = self._notes.get(id(message), (message, message))
            typed = longer.text if longer.typed is None else longer.typed
            longer = evolve(longer, text=f"{longer.text}\n\n{note}", typed=typed)
            self._notes[id(message)] = message, longer

    def _record_past(self, messages: Sequence[Message]) -> None:
        """Record the digests of files in a resumed session's results, to compare them again."""
        self._knows_the_past = True
        past = dict[str, str]()
        for message in messages:
            for result in message.results:
                past |= dict(_files_of(result))
        for path, digest in past.items():
            if digest and path not in self._files:
                self._files[path] = Snapshot(digest, None, self._clock() - self._max_age_s)

    def _changed(self) -> Iterator[tuple[str, str]]:
        """Yield each file that is another one than the session knows, and how it is named."""
        now = self._clock()
        for path, snapshot in list(self._files.items()):
            if now - snapshot.seen_s < self._max_age_s:
                continue
            version, snapshot.seen_s = self._version(path), now
            if version == snapshot.version and version is not None:
                continue
            if version is None:
                del self._files[path]
                yield path, f"{path} (deleted)"
                continue
            digest = self._digest(path, version)
            # A link and another Unicode normalization are other names of a file that was seen.
            is_known = any(version == other.version for other in self._files.values())
            if not is_known and (not digest or digest != snapshot.digest):
                yield path, path
            snapshot.digest, snapshot.version = digest, version

    def _forget_below(self, folder: str) -> None:
        """Forget the files of a folder that the call has moved away."""
        below = [path for path in self._files if path.startswith(f"{folder}/")]
        with suppress(ToolError, OSError, ValueError):  # it leads out of the directory
            if below and not self._workspace().exists(folder):
                for path in below:
                    del self._files[path]

    def _version(self, path: str) -> Version | None:
        """Return the version of a file, which changes with each write, or None without a file."""
        try:
            status = self._workspace().stat(path)
        except (ToolError, OSError, ValueError):
            return None
        is_file = stat.S_ISREG(status.st_mode)
        return (status.st_mtime_ns, status.st_size, status.st_ino) if is_file else None

    def _digest(self, path: str, version: Version) -> str:
        if version[1] > MAX_BYTES:
            return ""
        try:
            return self._workspace().digest_of(path)
        except (ToolError, OSError):
            return ""

    def _workspace(self) -> "Workspace":
        """Return the directory, opened at the first file; raises WorkspaceError, OSError."""
        if self._opened is None:
            # Loaded here, 16 modules: a session without files needs none.
            self._opened = nanocoder.Workspace(self._root, readable=self._readable)
        return self._opened


def _files_of(result: ToolResult) -> Iterator[tuple[str, str]]:
    """Yield each file that a call read or changed, and its digest, if the tool reports it."""
    if result.is_error:
        return
    path, digest = result.metadata.get("path"), result.metadata.get("digest")
    changed = result.metadata.get("files_changed")
    for name in (path, *(changed if isinstance(changed, list | tuple) else ())):
        if isinstance(name, str) and name and "\\" not in name:  # an odd name, written as an escape
            yield name, digest if isinstance(digest, str) else ""


def _is_in_view(path: str, messages: Sequence[Message]) -> bool:
    """Return True if the model can still know *path*: not after a rewind to before its reading."""
    return any(
        path in message.text or any(path in dict(_files_of(result)) for result in message.results)
        for message in messages
    )


def _note(changed: Sequence[str]) -> str:
    names = [*changed[:MAX_SHOWN]]
    if len(changed) > MAX_SHOWN:
        names.append(f"{len(changed) - MAX_SHOWN} more")
    return CHANGED.format(", ".join(names)) if names else ""
