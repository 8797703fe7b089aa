"""What a session works with: plugins, configuration, journal, workspace and open resources."""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, evolve, field
from nanocoder_files import Readable

from nanocoder.config.config import Config
from nanocoder.errors import ConfigError, PluginError, ToolError
from nanocoder.hooks.contributions import Dialect, Sandbox
from nanocoder.path.approval import Approvals, Approver, Asker
from nanocoder.path.queue import Admission
from nanocoder.plugins import Plugins
from nanocoder.session.config_check import refuse_misspelt
from nanocoder.session.installed import configure
from nanocoder.session.journal import Journal
from nanocoder.session.readable import SessionReadable
from nanocoder.tools.session_info import SessionInfo
from nanocoder.values import Event, Message, Usage

if TYPE_CHECKING:
    from nanocoder_files import Workspace

RECORDED = frozenset(
    {
        "message",
        "session.changed",
        "transcript.compacted",
        "notice",
        "run.started",
        "call.started",
        "call.returned",
        "call.approved",
        "call.edited",
        "call.denied",
        "call.restored",
        "telemetry.failed",
        "run.finished",
        "session.finished",
    }
)
"""Events that the journal keeps; a result is kept as `call.finished`."""


class Parent(Protocol):
    """What a child session reports to the session that it is inside of."""

    def release(self, child_id: str) -> None:
        """Forget a child that was closed."""

    def add_usage(self, usage: Usage) -> None:
        """Count what a child has used."""

    def add_changed_files(self, child: SessionInfo, paths: Iterable[str]) -> None:
        """Note the files that a child has changed."""

    def is_over_budget(self) -> bool:
        """Tell whether the parent's own budget is used up."""


@define(eq=False)
class Runtime:
    """What one session works with; closed with the session.

    *remembered_consent* is what a person answered with "always". *event_lock* is held while a
    plugin hears an event, so that it hears one at a time, from child sessions, too.
    """

    plugins: Plugins
    config: Config
    info: SessionInfo
    workspace_opener: "Callable[[Readable], Workspace]"
    journal: Journal | None = None
    approve: Approver | None = None
    ask: Asker | None = None
    messages: Sequence[Message] = ()
    max_turns: int = 50
    admission: Admission = field(factory=Admission)
    max_calls: int = 0
    max_tokens: int = 0
    dialect: Dialect | None = None
    parent: Parent | None = None
    remembered_consent: set[tuple[str, ...]] = field(factory=set)
    event_lock: AbstractContextManager[Any] = field(factory=threading.RLock)
    _readable: SessionReadable = field(init=False)
    _workspace: "Workspace | None" = field(default=None, init=False)
    _resources: dict[tuple[str, str], Any] = field(factory=dict, init=False)
    _resources_lock: threading.Lock = field(factory=threading.Lock, init=False)
    _workspace_lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._readable = SessionReadable(self.plugins, self.info)
        self.set_info(self.info)

    def set_info(self, info: SessionInfo) -> None:
        """Let *info* be what policies know of the session."""
        self.info = self._readable.session = evolve(info, readable=self._readable)

    def open_workspace(self) -> "Workspace":
        """Return the workspace, opened before the first call: a run without calls needs none."""
        with self._workspace_lock:
            if self._workspace is None:
                self._readable.now()  # the policies are asked before the first file is opened
                self._workspace = self.workspace_opener(self._readable)
            return self._workspace

    def approvals(self) -> Approvals:
        """Return what judges the session's calls and asks for approval."""
        core, info = self.config.core, self.info
        # A question at a terminal waits as long as it takes, unless the configuration sets a limit.
        is_default = self.config.where("approval_timeout_s").layer == "default"
        waits = info.interactive and self.approve is None and is_default
        limit_s = 0.0 if waits else core.approval_timeout_s
        return Approvals(
            self.plugins, info, self.approve, self.ask, self.remembered_consent, limit_s
        )

    def record(self, event: Event) -> None:
        """Journal an event before the next step is taken."""
        if self.journal is None or event.kind not in RECORDED:
            return
        kind, data = event.kind, event.data
        if kind == "call.returned":
            failed = data["status"] != "ok"
            kind = "call.finished"
            data = {"result": {**data, "is_error": failed, "call_id": event.call_id}}
        if event.call_id:
            data = {**data, "call_id": event.call_id}
        # With "power", the record is on the disk before the call changes anything.
        durable = self.config.core.durability == "power"
        self.journal.append(kind, data, sync=durable and kind in {"call.started", "run.finished"})
        if kind == "run.finished":
            self.journal.check()

    def resource(self, plugin: str, name: str) -> Any:
        """Return the session's resource, opening it at first use.

        Raises ToolError for a name that the plugin does not offer.
        """
        with self._resources_lock:
            if (plugin, name) not in self._resources:
                self._resources[plugin, name] = self._open_resource(plugin, name)
            return self._resources[plugin, name]

    def _open_resource(self, plugin: str, name: str) -> Any:
        for entry, offer in self.plugins.offers("resources"):
            if (entry.name, offer["name"]) == (plugin, name):
                resource = self.plugins.real(plugin, "resources", name)
                return resource.open(self.info, self.plugins.settings(plugin))
        raise ToolError(f"plugin {plugin!r} offers no resource {name!r}")

    def keep_output(self, name: str, data: bytes) -> str:
        """Keep a full output beside the journal; return its path, or nothing if that failed."""
        return "" if self.journal is None else self.journal.output(name, data)

    def wrap(self, argv: list[str]) -> list[str]:
        """Return *argv* as the configured sandbox runs it.

        Raises ToolError where a sandbox is configured and cannot be used.
        """
        name = self.config.core.sandbox
        if not name:
            return argv
        offered = self.plugins.offered("sandboxes", name)
        if offered is None:
            raise _no_sandbox(f"the sandbox {name!r} is configured but not installed")
        sandbox: Sandbox = offered[1]
        problem = sandbox.unavailable()
        if problem:
            raise _no_sandbox(f"the sandbox {name!r} cannot be used: {problem}")
        return sandbox.wrap(argv, self.info.cwd, self.info)

    def reload(self) -> Config:
        """Read the configuration again; policies, tools and settings go by it from the next call.

        Raises: ConfigError or PluginError, and the rules stay as they were.
        """
        config = self.config.reread()
        refuse_misspelt(config, self.plugins)
        self.plugins.renew_settings(config.settings)
        try:
            configure(self.plugins, config)
            self.plugins.tools()
        except (ConfigError, PluginError):  # of a plugin that wraps tools
            self.plugins.renew_settings(self.config.settings)
            configure(self.plugins, self.config)
            raise
        self.config = config
        return config

    def close(self) -> None:
        """Close what was opened, the last first."""
        for resource in reversed(list(self._resources.values())):
            close = getattr(resource, "close", None)
            if close is not None:
                close()
        self._resources.clear()
        if self.journal is not None:
            self.journal.close()
        if self._workspace is not None:
            self._workspace.close()
        if self.parent is not None:
            self.parent.release(self.info.id)


def _no_sandbox(message: str) -> ToolError:
    return ToolError(message, error_class="sandbox_unavailable")
