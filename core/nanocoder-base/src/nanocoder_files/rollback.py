"""The changes of one call, which are kept or reverted together."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from nanocoder_schema import mutable, value

from nanocoder_files.beneath import Place
from nanocoder_files.change import Change, FileKind
from nanocoder_files.change_log import ChangeLog, create_log
from nanocoder_files.paths import WorkspaceError, escape_path, not_changed
from nanocoder_files.restore import LogRestore

TRIED_AGAIN: Final = (
    "make room, or remove what is in the way; the next session in this directory tries again before"
    " anything else"
)


@value
class Restored:
    """The restored *paths*, in the order of their changes.

    *lost* has a line for each path that was not restored. *then* tells what happens next to such
    paths, and the paths of copies of replaced files.
    """

    paths: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    then: str = ""


@mutable
class Rollback:
    """Logs each change before it is made, until `restore` or `discard` ends the call.

    Afterwards the call's workspace allows no more changes. The log is created at the first change:
    its file name begins with *name*, *title* is for a person.
    """

    _change_logs: Path | None
    _name: str
    _title: str
    _restore: LogRestore
    _lock: AbstractContextManager[object]
    _log: ChangeLog | None = None
    _temporary: str = ""
    _is_over: bool = False

    @contextmanager
    def file(self, place: Place) -> Iterator[str]:  # noqa: ARG002 - as `WriteNote.file`
        """Yield the logged name of the last change's temporary file."""
        yield self._temporary

    def log(self, change: Change, data: bytes = b"") -> None:
        """Log *change* before it is made; *data* is the earlier content.

        Raises: WorkspaceError: stale_read if another call may still revert its own change,
        not_a_regular_file for a kind of file that could not be restored.
        """
        if change.before.kind == FileKind.OTHER:
            raise WorkspaceError(
                f"{escape_path(change.path)!r} is a pipe, socket or device; a call that can be"
                " undone does not delete it",
                error_class="not_a_regular_file",
            )
        # An abandoned handler goes on in a thread that cannot be stopped.
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
            # Checked afterwards, so that of two parallel calls at least one sees the other.
            if self._log.is_contested(logged):
                self._log.retract(logged)
                raise WorkspaceError(
                    f"{escape_path(change.path)!r} is being changed by another call, which may"
                    " still undo its change; try again when it has ended",
                    error_class="stale_read",
                )
        except OSError as error:
            raise not_changed(change.path, "its old content could not be saved", error) from error
        self._temporary = logged.temporary

    def restore(self) -> Restored:
        """Restore everything; the next session tries again what could not be restored."""
        with self._lock:
            self._is_over = True
            log, self._log = self._log, None
            if log is None:
                return Restored()
            restore = self._restore
            # The last first, because a later change began with an earlier one's state.
            for change in reversed(log.changes):
                restore.undo(log, change)
            notes = []
            if restore.copies:
                names = ", ".join(map(escape_path, restore.copies))
                folder = next(iter(restore.copies.values())).parent.parent
                copies = f"(copies are in {folder})"
                notes.append(f"changed by others meanwhile, and replaced: {names} {copies}")
            if restore.failed:
                place = f"the earlier content is kept in {log.path}"
                notes.append(place if self._change_logs is None else TRIED_AGAIN)
                # Unlocked but not removed, so that the next session finds it.
                log.close()
            else:
                log.remove()
            return Restored(restore.paths, tuple(restore.lost.values()), "; ".join(notes))

    def discard(self) -> None:
        """Keep the changes for good. Raises OSError; then a later session may revert them."""
        with self._lock:
            self._is_over = True
            log, self._log = self._log, None
            if log is not None:
                log.remove()
