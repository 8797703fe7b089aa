"""Recording of a workspace's changes while calls run programs, for a session and its agents."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import define, field
from nanocoder import NanocoderError, PluginError, SessionInfo, Workspace, counted
from nanocoder_kit_sessions.snapshots import (
    CommandChange,
    CommandEntry,
    GitStore,
    append_entry,
    last_number,
)
from nanocoder_kit_sessions.snapshots.index import Index, Limits, Look, TooMuchError
from nanocoder_kit_sessions.snapshots.listing import TooLargeError, list_workspace
from nanocoder_kit_sessions.snapshots.look_log import (
    LookLog,
    finish_interrupted,
    latest_looks,
    remove_looks,
)

from nanocoder_undo_snapshots.repository import Repository
from nanocoder_undo_snapshots.settings import Settings

PLUGIN = "undo-snapshots"
WAY_OUT = "; a .gitignore can leave some out, or plugins.undo-snapshots.max_files be higher"
OFF = "undo will not restore what commands change in this session: {}"


@define(eq=False)
class Recorder:
    """Scans *workspace* whenever a call begins or ends, and logs the changes in between.

    *folder* is the session's own. After a *problem* it does nothing more.
    """

    workspace: Workspace
    folder: Path
    store: GitStore
    settings: Settings
    problem: str = ""
    _index: Index | None = None
    _repository: Repository | None = None
    _looks: LookLog | None = None
    _running: dict[str, None] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    @classmethod
    def of_session(cls, session: SessionInfo, settings: Settings) -> "Recorder":
        """Return the recorder of *session*, or of its parent if it is a sub-agent's."""
        folder = session.folder
        if folder is None:
            raise ValueError("a session that is not kept has no recorder")
        main = folder.parent if session.parent else folder
        workspace = Workspace(session.cwd, readable=session.readable)
        return cls(workspace, main, GitStore.of_session(main, session.cwd), settings)

    def start(self, call: str) -> None:
        """Take a snapshot before *call* runs. Raises: PluginError, once."""
        with self._lock:
            self._look({**self._running, call: None})

    def end(self, call: str) -> None:
        """Log the changes while *call* ran. Raises: PluginError, once."""
        with self._lock:
            if call in self._running:
                running = {other: None for other in self._running if other != call}
                self._look(running, ended=(call,))

    def close(self) -> None:
        """Store the index for the next session, and close the workspace."""
        with self._lock, suppress(OSError):
            if self._looks is not None:
                self._looks.close()
        self.workspace.close()

    def _look(self, running: dict[str, None], ended: tuple[str, ...] = ()) -> None:
        """Scan the files; from then on the calls in *running* run."""
        if self.problem:
            return
        try:
            self._store_look(self._compare(), running, ended)
        except TooLargeError:
            most = counted(self.settings.max_files, "file")
            self._stop(f"the folder has more than {most} (max_files){WAY_OUT}")
        except (OSError, TooMuchError, NanocoderError) as error:
            self._stop(str(error))

    def _compare(self) -> Look:
        settings = self.settings
        if self._index is None:
            finish_interrupted(self.store.folder, self.workspace)
            self._index = self._open_index()
        limits = Limits(settings.max_file_bytes, settings.max_total_bytes)
        look = Look(self._index, self.workspace, limits)
        root, crowded = self.workspace.root, self._index.crowded
        look.compare(list_workspace(self.workspace, root, settings.max_files, crowded))
        for change, data in self._look_at_repository():
            look.changes.append(change)
            look.contents[change.change.path] = data
        if look.contents:
            self.store.keep(self.folder.name, list(look.contents.items()))
        return look

    def _look_at_repository(self) -> Iterator[tuple[CommandChange, bytes]]:
        if self._repository is None:
            self._repository = Repository(self.workspace, self.settings.max_file_bytes)
        return self._repository.look()

    def _open_index(self) -> Index:
        session = self.folder.name
        stored = latest_looks(self.store.folder, self.folder)
        has_contents = self.store.open(session, stored.index.session if stored else "")
        self.store.shrink(self.settings.max_kept_bytes, besides=session)
        index = stored.index if stored and has_contents else Index()
        index.session = session
        return index

    def _store_look(self, look: Look, running: dict[str, None], ended: tuple[str, ...]) -> None:
        """Log the changes, then store the index: a kill in between repeats the changes."""
        if self._running and (ended or look.changes):
            entry = CommandEntry(
                at=time.time(),
                root=str(self.workspace.root),
                calls=tuple(self._running),
                ended=ended,
                changes=look.changes,
                after=last_number(self.folder),
            )
            append_entry(self.folder, entry)
        if self._looks is None:
            remove_looks(self.store.folder)
            self._looks = LookLog.create(self.store.folder, self.folder, look.index)
        self._looks.write(look.index, look.rows, running)
        self._running = running

    def _stop(self, problem: str) -> None:
        """Stop recording, and report *problem*."""
        self.problem = problem
        try:
            root, after = str(self.workspace.root), last_number(self.folder)
            entry = CommandEntry(time.time(), root, problem=problem, after=after)
            append_entry(self.folder, entry)
        except OSError as error:
            problem = f"{problem}; {error}"
        raise PluginError(PLUGIN, OFF.format(problem)) from None
