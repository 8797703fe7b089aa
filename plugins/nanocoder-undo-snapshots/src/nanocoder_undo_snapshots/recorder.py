"""Records what changes in a workspace while calls run programs, for one session and its agents."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import define, field
from nanocoder import NanocoderError, PluginError, SessionInfo, Workspace, counted
from nanocoder_kit_snapshots import CommandChange, CommandEntry, GitStore, append_entry

from nanocoder_undo_snapshots.index import Index, Limits, Look, TooMuchError
from nanocoder_undo_snapshots.listing import TooLargeError, list_workspace
from nanocoder_undo_snapshots.repository import Repository
from nanocoder_undo_snapshots.settings import Settings

PLUGIN = "undo-snapshots"
OFF = "undo will not restore what commands change in this session: {}"


@define(eq=False)
class Recorder:
    """Looks at *workspace* whenever a call begins or ends, and logs what changed meanwhile.

    *folder* is the session's own. With a *problem* it does nothing more.
    """

    workspace: Workspace
    folder: Path
    store: GitStore
    settings: Settings
    problem: str = ""
    _index: Index | None = None
    _repository: Repository | None = None
    _has_news: bool = False
    _running: dict[str, None] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    @classmethod
    def of_session(cls, session: SessionInfo, settings: Settings) -> "Recorder":
        """Return the recorder of *session*, or of the one that it is an agent of."""
        folder = session.folder
        if folder is None:
            raise ValueError("a session that is not kept has no recorder")
        main = folder.parent if session.parent else folder
        workspace = Workspace(session.cwd, readable=session.readable)
        return cls(workspace, main, GitStore.of_session(main, session.cwd), settings)

    def start(self, call: str) -> None:
        """Take a snapshot before *call* runs. Raises: PluginError, once."""
        with self._lock:
            self._look()
            self._running[call] = None

    def end(self, call: str) -> None:
        """Log what changed while *call* ran. Raises: PluginError, once."""
        with self._lock:
            if call in self._running:
                self._look(ended=(call,))
                self._running.pop(call)

    def close(self) -> None:
        """Store what is known of the files, for the next session, and close the workspace."""
        with self._lock, suppress(OSError):
            if self._index is not None and self._has_news and not self.problem:
                self._index.store(self.store.folder)
        self.workspace.close()

    def _look(self, ended: tuple[str, ...] = ()) -> None:
        if self.problem:
            return
        try:
            self._log(self._compare(), ended)
        except TooLargeError:
            most = counted(self.settings.max_files, "file")
            self._stop(f"the folder has more than {most} (max_files)")
        except (OSError, TooMuchError, NanocoderError) as error:
            self._stop(str(error))

    def _compare(self) -> Look:
        settings = self.settings
        if self._index is None:
            self._index = self._open_index()
        limits = Limits(settings.max_file_bytes, settings.max_total_bytes)
        look = Look(self._index, self.workspace, limits)
        root, earlier = self.workspace.root, self._index.listing
        look.compare(list_workspace(self.workspace, root, settings.max_files, earlier))
        for change, data in self._look_at_repository():
            look.changes.append(change)
            look.contents[change.change.path] = data
        if look.contents:
            self.store.keep(self.folder.name, list(look.contents.items()))
            self._has_news = True
        return look

    def _look_at_repository(self) -> Iterator[tuple[CommandChange, bytes]]:
        if self._repository is None:
            self._repository = Repository(self.workspace, self.settings.max_file_bytes)
        return self._repository.look()

    def _open_index(self) -> Index:
        index, session = Index.load(self.store.folder), self.folder.name
        has_contents = self.store.open(session, index.session)
        self.store.shrink(self.settings.max_kept_bytes, besides=session)
        if not has_contents:
            index = Index()
        index.session = session
        return index

    def _log(self, look: Look, ended: tuple[str, ...]) -> None:
        if not self._running or not (ended or look.changes):
            return
        entry = CommandEntry(
            at=time.time(),
            root=str(self.workspace.root),
            calls=tuple(self._running),
            ended=ended,
            changes=look.changes,
        )
        append_entry(self.folder, entry)

    def _stop(self, problem: str) -> None:
        """Do nothing from now on, and say why."""
        self.problem = problem
        try:
            root = str(self.workspace.root)
            append_entry(self.folder, CommandEntry(time.time(), root, problem=problem))
        except OSError as error:
            problem = f"{problem}; {error}"
        raise PluginError(PLUGIN, OFF.format(problem)) from None
