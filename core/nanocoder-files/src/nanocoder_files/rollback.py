"""The changes of one call, which are kept or taken back together."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.backups import Backups
from nanocoder_files.beneath import Place
from nanocoder_files.change import Change, FileKind, FileState
from nanocoder_files.change_log import ChangeLog, LoggedChange, create_log
from nanocoder_files.errors import FULL, WorkspaceError
from nanocoder_files.path_text import escape_path
from nanocoder_files.private_files import folder_for
from nanocoder_files.restore import LogRestore
from nanocoder_files.root import Root
from nanocoder_files.snapshot import KnownFiles
from nanocoder_files.writing import open_regular


@frozen(eq=False, repr=False)
class Restored(Value):
    """The *paths* that were put back, in the order in which they had been changed.

    *lost* has a line for each path that is not as it was. *then* says what happens next to paths
    that could not be put back, and where the copies are of files that were replaced.
    """

    paths: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    then: str = ""


class LiveRestore(LogRestore):
    """How a call of this very process takes its changes back.

    Where the call started *processes*, what they have made of its files is replaced, and *backups*
    get a copy; otherwise somebody else has changed a file, and it stays.
    """

    makes_folders = True

    def __init__(
        self, root: Root, backups: Backups | None, known_files: KnownFiles, *, processes: bool
    ) -> None:
        super().__init__(root)
        self.known_files = known_files
        self._processes = processes
        self._backups = backups
        self._copies: dict[str, Path] = {}

    @property
    def note(self) -> str:
        """Where the copies of replaced files are, "" without any."""
        if not self._copies:
            return ""
        names = ", ".join(map(escape_path, self._copies))
        folder = next(iter(self._copies.values())).parent.parent
        return f"changed by others meanwhile, and replaced: {names} (copies are in {folder})"

    def _may_replace(self, place: Place, now: FileState, change: Change) -> bool:
        if not self._processes:
            return super()._may_replace(place, now, change)
        if self._backups is not None and now.is_file:
            path = change.changed_path
            with open_regular(place) as file:
                self._copies[path] = self._backups.add(path, file.read())
        return True

    def _rename(self, there: Place, here: Place, change: Change) -> None:
        super()._rename(there, here, change)
        self.known_files.move(change.target, change.path)

    def _restored(self, change: Change) -> None:
        """Know of the file what was known before it was changed."""
        version = change.version if isinstance(change, LoggedChange) else ""
        self.known_files.note(change.changed_path, version)


class Rollback:
    """Logs each change before it is made, until `restore` or `discard` ends the call.

    Afterwards the call's workspace changes nothing any more. The log is made at the first change:
    its file is called like *name*, *title* is for a person.
    """

    def __init__(
        self,
        change_logs: Path | None,
        name: str,
        title: str,
        restore: LiveRestore,
        lock: AbstractContextManager[object],
    ) -> None:
        self._change_logs = change_logs
        self._name = name
        self._title = title
        self._restore = restore
        self._lock = lock
        self._log: ChangeLog | None = None
        self._temporary = ""
        self._is_over = False

    @contextmanager
    def file(self, place: Place) -> Iterator[str]:  # noqa: ARG002 - as `WriteNote.file`
        """Return the name that the log has for the new file of the last change in it."""
        yield self._temporary

    def log(self, change: Change, data: bytes = b"") -> None:
        """Log *change*, which begins when this returns; *data* is the content before it.

        Raises: WorkspaceError, stale_read where another call may still undo its own change, and
        not_a_regular_file for what could not be made again.
        """
        if change.before.kind == FileKind.OTHER:
            raise WorkspaceError(
                f"{escape_path(change.path)!r} is a pipe, socket or device; a call that can be"
                " undone does not delete it",
                error_class="not_a_regular_file",
            )
        if self._is_over:
            raise WorkspaceError(
                "the call that this belongs to has ended; it can no longer change files",
                error_class="cancelled",
            )
        try:
            if self._log is None:
                root = self._restore.root.path
                self._log = create_log(self._change_logs, root, self._name, self._title)
            version = self._restore.known_files.get(change.changed_path, "")
            logged = self._log.append(change, data, version)
            # Looked for afterwards, so that of two at once at least one sees the other.
            is_contested = self._log.is_contested(logged)
            if is_contested:
                self._log.retract(logged)
        except OSError as error:
            raise WorkspaceError(
                f"{escape_path(change.path)!r} was not changed, because its old content"
                f" could not be saved: {error}",
                error_class="disk_full" if error.errno in FULL else "io_error",
            ) from error
        if is_contested:
            raise WorkspaceError(
                f"{escape_path(change.path)!r} is being changed by another call, which may still"
                " undo its change; try again when it has ended",
                error_class="stale_read",
            )
        self._temporary = logged.temporary

    def restore(self) -> Restored:
        """Put everything back; what could not be put back is tried again in the next session."""
        with self._lock:
            self._is_over = True
            log, self._log = self._log, None
            if log is None:
                return Restored()
            restore = self._restore
            for change in reversed(log.changes):
                restore.undo(log, change)
            notes = [restore.note]
            if restore.failed:
                notes.append(self._what_is_next(log))
                log.close()
            else:
                log.remove()
            then = "; ".join(filter(None, notes))
            return Restored(restore.paths, tuple(restore.lost.values()), then)

    def _what_is_next(self, log: ChangeLog) -> str:
        if log.path.parent.name == folder_for(Path(), self._restore.root.path).name:
            return (
                "make room, or remove what is in the way; the next session in this directory"
                " tries again before anything else"
            )
        return f"the earlier content is kept in {log.path}"

    def discard(self) -> None:
        """Keep the changes, which stay from here on. Raises OSError, and nothing is certain."""
        with self._lock:
            self._is_over = True
            log, self._log = self._log, None
            if log is not None:
                log.remove()
