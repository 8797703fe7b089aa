"""The changes of one call, which are kept or taken back together."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from attrs import evolve

from nanocoder_files.beneath import Place
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.held import folder_of
from nanocoder_files.intents import Intent, Intents, begun
from nanocoder_files.problems import FULL
from nanocoder_files.replay import OwnReplay, Restored
from nanocoder_files.spelling import escape_path
from nanocoder_files.state import DIRECTORY, FILE, OTHER, State, state_of
from nanocoder_files.writing import Old


class Rollback:
    """Notes each change before it is made, until `restore` or `discard` ends the call.

    Afterwards whoever still holds the call's workspace changes nothing any more. *begin* makes the
    file of the intents, at the first change.
    """

    def __init__(
        self,
        begin: Callable[[], Intents],
        replay: OwnReplay,
        lock: AbstractContextManager[object],
        seen: dict[str, str],
    ) -> None:
        self._begin = begin
        self._replay = replay
        self._lock = lock
        self._seen = seen
        self._seen_before: list[str] = []
        self._intents: Intents | None = None
        self._is_over = False

    # What is about to happen

    def makes(self, path: str) -> None:
        """Note that a directory will be made."""
        self._note(Intent(path, State(), State(DIRECTORY)))

    def writes(self, path: str, old: Old | None, digest: str, size: int) -> None:
        """Note that a file will be replaced or made."""
        before = State.of_old(old) if old else State()
        self._note(Intent(path, before, State(FILE, digest, size)), old.data if old else b"")

    def removes(self, place: Place, old: Old | None = None) -> None:
        """Note that a file, a link or a directory will go.

        Raises: WorkspaceError (not_a_regular_file) for what could not be made again.
        """
        before = State.of_old(old) if old else state_of(place)
        if before.kind == OTHER:
            raise WorkspaceError(
                f"{escape_path(place.path)!r} is a pipe, socket or device; a call that can be"
                " undone does not delete it",
                error_class="not_a_regular_file",
            )
        self._note(Intent(place.path, before, State()), old.data if old else b"")

    def moves(self, here: Place, there: Place, old: Old | None) -> None:
        """Note that a thing will get another name, where *old* may be."""
        replaced = State.of_old(old) if old else State()
        intent = Intent(here.path, replaced, state_of(here), target=there.path)
        self._note(intent, old.data if old else b"")

    def _note(self, intent: Intent, data: bytes = b"") -> None:
        if self._is_over:
            raise WorkspaceError(
                "the call that this belongs to has ended; it can no longer change files",
                error_class="cancelled",
            )
        try:
            if self._intents is None:
                self._intents = self._begin()
            noted = self._intents.append(intent, data)
            # Looked for afterwards, so that of two at once at least one sees the other.
            is_contested = self._intents.is_contested(noted)
            if is_contested:
                self._intents.retract(noted)
        except OSError as error:
            raise WorkspaceError(
                f"{escape_path(intent.path)!r} was not changed, because its old content"
                f" could not be saved: {error}",
                error_class="disk_full" if error.errno in FULL else "io_error",
            ) from error
        if is_contested:
            raise WorkspaceError(
                f"{escape_path(intent.path)!r} is being changed by another call, which may still"
                " undo its change; try again when it has ended",
                error_class="stale_read",
            )
        self._seen_before.append(self._seen.get(intent.target or intent.path, ""))

    # The end of the call

    def restore(self) -> Restored:
        """Put everything back; what could not be put back is tried again in the next session."""
        with self._lock:
            self._is_over = True
            intents, self._intents = self._intents, None
            if intents is None:
                return Restored()
            for intent in reversed(intents.intents):
                self._replay.seen_before = self._seen_before.pop()
                self._replay.undo(intents, intent)
            restored = self._replay.restored
            if self._replay.failed:
                intents.close()
                then = filter(None, [restored.then, self._then(intents)])
                return evolve(restored, then="; ".join(then))
            intents.remove()
            return restored

    def _then(self, intents: Intents) -> str:
        """Say what comes of what could not be put back."""
        if intents.path.parent.name == folder_of(Path(), self._replay.root).name:
            return (
                "make room, or remove what is in the way; the next session in this directory"
                " tries again before anything else"
            )
        return f"the earlier content is kept in {intents.path}"

    def discard(self) -> None:
        """Keep what was changed; from here on it stays. Raises OSError, and nothing is certain."""
        with self._lock:
            self._is_over = True
            intents, self._intents = self._intents, None
            if intents is not None:
                intents.remove()


def begun_in(folder: Path | None, root: Path, name: str, about: str) -> Intents:
    """Begin the intents of one call in *root*; without a *folder*, where nobody finds them."""
    if folder is not None:
        return begun(folder_of(folder, root), name, about, root)
    import tempfile  # only a workspace without a session needs it

    return begun(Path(tempfile.mkdtemp(prefix="nanocoder-")) / "intents", name, about, root)
