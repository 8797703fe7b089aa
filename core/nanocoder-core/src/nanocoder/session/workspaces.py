"""The workspace of a session: its directory, and the policies' read filters."""

import operator
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanocoder_config import own_folders, state_dir
from nanocoder_files import Closed, OwnFolders, PathFilter, Readable
from nanocoder_schema import ConfigError, UsageError, evolve

from nanocoder.config import Config
from nanocoder.errors import PluginError
from nanocoder.hooks.dispatch import attempt_each, why_closed
from nanocoder.plugins import Plugins
from nanocoder.tools.session_info import SessionInfo

if TYPE_CHECKING:
    from nanocoder_files import Workspace

    from nanocoder.hooks.interfaces import Journal

OWN_PLACES = "nanocoder keeps its settings, sessions and caches there"
"""Other sessions' journals may contain files that this session may not read."""


def existing_directory(cwd: str | os.PathLike[str]) -> Path:
    """Return *cwd* resolved; raises UsageError if it is not a directory that can be entered."""
    root = Path(cwd)
    try:
        real = root.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the directory {str(root)!r} cannot be used: {problem}") from error
    if not real.is_dir():
        raise UsageError(f"{str(root)!r} is not a directory")
    return real


def open_workspace(
    root: Path,
    journal: "Journal | None",
    config: Config,
    readable: Readable | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    ours: bool = False,
) -> "Workspace":
    """Open the workspace with its backups outside of it and our own directories protected.

    *readable* is the read filter, None: everything may be read. *ours*: *root* is in such a
    directory because a tool of this session put it there.
    """
    from nanocoder_files import Workspace  # 14 modules; a run without calls needs none

    return Workspace(
        root,
        backups=journal.backups if journal is not None else None,
        keep_backups=config.core.keep_backups,
        extra_protected=map(str, own_folders(environment, root=root if ours else None)),
        listener=None if journal is None else partial(journal.append, "file.changed"),
        change_logs=change_logs_dir(environment),
        outputs=journal.outputs if journal is not None else None,
        readable=readable,
    )


def restore_interrupted_changes(
    root: Path, environment: Mapping[str, str], warn: Callable[[str], None]
) -> None:
    """Revert the changes of transactional calls in *root* whose process was killed.

    The temporary file of a killed write is removed.
    """
    folder = change_logs_dir(environment)
    if folder is not None and folder.is_dir():
        from nanocoder_files import recover_all  # usually there is nothing to recover

        for line in recover_all(folder, root, own_folders(environment)):
            warn(line)


def change_logs_dir(environment: Mapping[str, str]) -> Path | None:
    """Return the directory of transactional calls' change logs; it need not exist.

    None without a state directory: a killed call can then not be restored.
    """
    try:
        state = state_dir(environment)
    except ConfigError:
        return None
    return state / "change-logs" if state.is_dir() else None


class SessionReadable(Readable):
    """The combined read filter of one session; *session* is replaced when it changes."""

    def __init__(self, plugins: Plugins, session: SessionInfo, *, is_own: bool = False) -> None:
        super().__init__()
        self.session = session
        self._plugins = plugins
        self._is_own = is_own
        self._elsewhere: dict[tuple[Path, bool], tuple[SessionInfo, Readable]] = {}
        self._current: tuple[tuple[object, ...], Readable] = ((), Readable())

    def now(self) -> Readable:
        """Return the current filters; policies are asked again only after a change."""
        tools = self._plugins.tools()  # rules for all tools bind a sub-agent with few of them
        policies = self._plugins.implementations("nanocoder_readable")
        settings = [self._plugins.settings(policy.plugin) for policy in policies]
        asked_with = (self.session, tools, *policies, *settings)
        before, readable = self._current
        if len(before) == len(asked_with) and all(map(operator.is_, before, asked_with)):
            return readable
        context = {"tools": tools, "session": self.session, "settings": self._plugins.settings}
        answers = attempt_each(policies, lambda policy: policy(context, PathFilter))
        filters = [(each.plugin, self._filter(answer, error)) for each, answer, error in answers]
        resolve = self.session.resolve
        folders = [resolve(str(folder)).path for folder in self.session.own_folders]
        own = OwnFolders(folders, lambda path: resolve(path).is_private, OWN_PLACES)
        has_own = own.inside and not self._is_own
        readable = Readable([("nanocoder", own), *filters] if has_own else filters)
        self._current = (asked_with, readable)
        return readable

    def at(self, root: Path, *, is_own: bool = False) -> Readable:
        """Return the filters of the policies for *root* as the workspace."""
        session = self.session
        if root == session.cwd and not is_own:
            return self
        before, readable = self._elsewhere.get((root, is_own), (None, Readable()))
        if before is not session:
            there = evolve(session, cwd=root, origins=_origins_at(session, root))
            readable = SessionReadable(self._plugins, there, is_own=is_own)
            self._elsewhere[root, is_own] = session, readable
        return readable

    def _filter(self, answer: PathFilter | None, failure: PluginError | None) -> PathFilter:
        if failure is None:
            return PathFilter() if answer is None else answer
        self._plugins.report(failure)
        return Closed(why_closed(failure))


def _origins_at(session: SessionInfo, root: Path) -> tuple[Path, ...]:
    """Return the directories that *root*, a directory around the workspace, is a copy of."""
    if not session.cwd.is_relative_to(root):
        return ()
    levels = len(session.cwd.relative_to(root).parts)
    copied = ((origin, *origin.parents) for origin in session.origins)
    return tuple(folders[levels] for folders in copied if levels < len(folders))
