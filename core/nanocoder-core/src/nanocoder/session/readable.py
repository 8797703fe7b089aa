"""What the policies let be read in one session, asked again when its settings change."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from nanocoder_files import PathFilter, Readable

from nanocoder.errors import PluginError
from nanocoder.hooks.styles import Implementation, attempt, problem_of, wrong_type
from nanocoder.plugins import Plugins
from nanocoder.tools.session_info import SessionInfo

HOOK = "nanocoder_readable"


class SessionReadable(Readable):
    """All that the policies of one session refuse; *session* is set anew when it changes."""

    def __init__(self, plugins: Plugins, session: SessionInfo) -> None:
        super().__init__()
        self.session = session
        self._plugins = plugins
        self._current: tuple[tuple[object, ...], Readable] = ((), Readable())

    def now(self) -> Readable:
        """Return what holds now; the policies are asked again only when something is different."""
        tools = self._plugins.tools()  # a sub-agent with few tools is held by the rules for all
        policies = self._plugins.implementations(HOOK)
        settings = [self._plugins.settings(policy.plugin) for policy in policies]
        asked_with = (self.session, tools, *policies, *settings)
        before, readable = self._current
        if len(before) == len(asked_with) and all(map(operator.is_, before, asked_with)):
            return readable
        context = {"tools": tools, "session": self.session, "settings": self._plugins.settings}
        filters = [(policy.plugin, self._filter(policy, context)) for policy in policies]
        own = OwnFolders(self.session)
        readable = Readable([("nanocoder", own), *filters] if own.are_inside else filters)
        self._current = (asked_with, readable)
        return readable

    def refuses(self, path: str) -> str:
        """Say why *path* may not be read by anybody; see `Readable`."""
        return self.now().refuses(path)

    def asks(self, path: str) -> str:
        """Say why a person has to agree before *path* is read; see `Readable`."""
        return self.now().asks(path)

    def left_out(self, folder: str, names: Any, *, asks: bool) -> set[str]:
        """Return those of the *names* that a search leaves out; see `Readable`."""
        return self.now().left_out(folder, names, asks=asks)

    def _filter(self, policy: Implementation, context: dict[str, Any]) -> PathFilter:
        try:
            value = attempt(policy, context)
            if value is None:
                return PathFilter()
            if not isinstance(value, PathFilter):
                raise policy.error(wrong_type(value, PathFilter))
        except PluginError as error:
            self._plugins.report(error)
            cause = error.__cause__
            problem = error.problem if cause is None else problem_of(cause)
            return _Closed(f"policy {policy.plugin!r} failed: {problem}")
        return value


class OwnFolders(PathFilter):
    """Refuses where nanocoder keeps settings, sessions and caches, should it be in the workspace.

    Other sessions' journals hold what their policies kept to them.
    """

    def __init__(self, session: SessionInfo) -> None:
        self._session = session
        folders = [session.resolve(str(folder)).path for folder in session.own_folders]
        self._inside = {path.casefold() for path in folders if not path.startswith("/")}

    @property
    def are_inside(self) -> bool:
        """Tell whether there is anything to refuse."""
        return bool(self._inside)

    def refuses(self, path: str) -> str:
        """Say so of one of the folders, and of what lies there."""
        is_private = self._session.resolve(path).is_private
        return "nanocoder keeps its settings, sessions and caches there" if is_private else ""

    def suspects(self, folder: str, names: Sequence[str]) -> Iterable[str]:
        """Return the names of the folders themselves: all below them is refused with them."""
        prefix = f"{folder}/" if folder else ""
        return [name for name in names if (prefix + name).casefold() in self._inside]


class _Closed(PathFilter):
    """Refuses every path, for *reason*."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def refuses(self, path: str) -> str:  # noqa: ARG002 - every path
        return self._reason
