"""Opening a session: configuration, plugins, workspace and journal, in the order that is safe."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field
from nanocoder_files import Readable
from nanocoder_schema import SURELY_MEANT, did_you_mean

from nanocoder.config.config import Config
from nanocoder.config.places import own_folders
from nanocoder.errors import ConfigError, ToolError, UsageError
from nanocoder.hooks.contributions import Dialect, Sandbox
from nanocoder.path.approval import Approver, Asker
from nanocoder.path.queue import Admission
from nanocoder.plugins import Plugins
from nanocoder.session.crash_recovery import take_back_what_was_killed
from nanocoder.session.directory import existing_directory
from nanocoder.session.installed import installed_plugins
from nanocoder.session.journal import Journal
from nanocoder.session.policy_tools import unknown_tools
from nanocoder.session.readable import SessionReadable
from nanocoder.session.store import SessionStore
from nanocoder.session.transcript import Transcript, repaired
from nanocoder.session.workspaces import open_workspace
from nanocoder.tools.tool import SessionInfo
from nanocoder.values import Event, Message, Mode
from nanocoder.wrapping import configure

if TYPE_CHECKING:
    from nanocoder_files import Workspace

    from nanocoder.session.sub_sessions import Children

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


@define(eq=False)
class Ground:
    """What a session stands on: its plugins, workspace, journal and what they keep open.

    Closed with the session.
    """

    plugins: Plugins
    config: Config
    info: SessionInfo
    open: "Callable[[Readable], Workspace]"
    journal: Journal | None = None
    approve: Approver | None = None
    ask: Asker | None = None
    messages: Sequence[Message] = ()
    max_turns: int = 50
    admission: Admission = field(factory=Admission)
    max_calls: int = 0
    max_tokens: int = 0
    dialect: Dialect | None = None
    parent: "Children | None" = None
    kept: set[tuple[str, ...]] = field(factory=set)
    telling: AbstractContextManager[Any] = field(factory=threading.RLock)
    _readable: SessionReadable = field(init=False)
    _workspace: "Workspace | None" = None
    _resources: dict[tuple[str, str], Any] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)
    _opening: threading.Lock = field(factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        self._readable = SessionReadable(self.plugins, self.info)
        self.set_info(self.info)

    def set_info(self, info: SessionInfo) -> None:
        """Let *info* be what policies know of the session."""
        self.info = self._readable.session = evolve(info, readable=self._readable)

    @property
    def workspace(self) -> "Workspace":
        """The workspace, opened before the first call runs: a run without calls needs none."""
        with self._opening:
            if self._workspace is None:
                self._readable.now()  # the policies are asked before the first file is opened
                self._workspace = self.open(self._readable)
            return self._workspace

    def open_workspace(self) -> "Workspace":
        """Return the workspace."""
        return self.workspace

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
        # With "power", what may change the world is on the disk before it does.
        durable = self.config.core.durability == "power"
        self.journal.append(kind, data, sync=durable and kind in {"call.started", "run.finished"})
        if kind == "run.finished":
            self.journal.check()

    def resource(self, plugin: str, name: str) -> Any:
        """Return the session's resource, opening it at first use.

        Raises ToolError for a name nobody offers.
        """
        with self._lock:
            if (plugin, name) not in self._resources:
                self._resources[plugin, name] = self._opened(plugin, name)
            return self._resources[plugin, name]

    def _opened(self, plugin: str, name: str) -> Any:
        for entry, offer in self.plugins.offers("resources"):
            if (entry.name, offer["name"]) == (plugin, name):
                found = self.plugins.real(plugin, "resources", name)
                return found.open(self.info, self.plugins.settings(plugin))
        raise ToolError(f"plugin {plugin!r} offers no resource {name!r}")

    def artifact(self, name: str, data: bytes) -> str:
        """Keep a full output beside the journal; return its path, or nothing if that failed."""
        return "" if self.journal is None else self.journal.output(name, data)

    def wrap(self, argv: list[str]) -> list[str]:
        """Return *argv* as the configured sandbox runs it.

        One that is asked for and missing refuses.
        """
        name = self.config.core.sandbox
        if not name:
            return argv
        found = self.plugins.offered("sandboxes", name)
        if found is None:
            raise ToolError(
                f"the sandbox {name!r} is configured but not installed",
                error_class="sandbox_unavailable",
            )
        sandbox: Sandbox = found[1]
        problem = sandbox.unavailable()
        if problem:
            raise ToolError(
                f"the sandbox {name!r} cannot be used: {problem}", error_class="sandbox_unavailable"
            )
        return sandbox.wrap(argv, self.info.cwd, self.info)

    def small_file(self, path: str, limit: int) -> str:
        """Return the text of a file of at most *limit* bytes, or nothing."""
        try:
            return self.workspace.read_text(path, max_bytes=limit)
        except ToolError:
            return ""

    def reload(self) -> Config:
        """Read the configuration again; policies, tools and settings go by it from the next call.

        Raises: ConfigError or PluginError, and the rules stay as they were.
        """
        config = self.config.reread()
        refuse_misspelt(config, self.plugins)
        self.plugins.renew_settings(config.settings)
        try:
            configure(self.plugins, config)
        except ConfigError:  # of a wrapper
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
            self.parent.left(self.info.id)


def open_ground(  # noqa: PLR0913 - these are the options of open_session, by name
    cwd: str | os.PathLike[str] = ".",
    *,
    model: str = "",
    mode: Mode | str | None = None,
    approve: Approver | None = None,
    ask: Asker | None = None,
    interactive: bool = False,
    output: str = "text",
    max_turns: int | None = None,
    resume: str = "",
    dialect: str = "",
    dry_run: bool = False,
    plugins: Plugins | None = None,
    config: Config | None = None,
    persist: bool = True,
    warn: Callable[[str], None] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Ground:
    """Put a session's ground together; these are the options of `nanocoder.open_session`.

    *model* is "provider/model", *approve* answers approval requests and *ask* the questions of
    tools (without them the installed UI plugins do), *interactive* says that a person is there,
    *resume* is a session's id or "last", *persist* False keeps no journal, *warn* is told what a
    person should know. Raises: ConfigError, UsageError, PluginError.
    """
    root = existing_directory(cwd)
    flags = {"model": model or None, "mode": mode, "max_turns": max_turns}
    flags["dialect"] = dialect or None
    config = config or Config.load(root, flags=flags, environment=environment)
    say = warn or (lambda _: None)
    _check_place(config, say)
    plugins = plugins if plugins is not None else installed_plugins(config, environment)
    refuse_misspelt(config, plugins)
    plugins.require_policies()
    take_back_what_was_killed(root, environment, say)
    journal, transcript = _opened_journal(
        config, root, resume, persist=persist, warn=say, environment=environment
    )
    info = SessionInfo(
        id=journal.id if journal is not None else "unsaved",
        cwd=root,
        mode=Mode(config.core.mode),
        model=_model(config, transcript, say),
        interactive=interactive,
        output=output,
        folder=journal.artifacts if journal is not None else None,
        own_folders=own_folders(environment),
        outputs=journal.outputs if journal is not None else None,
        dry_run=dry_run,
    )
    return Ground(
        plugins=plugins,
        config=config,
        open=partial(open_workspace, root, journal, config, environment=environment),
        info=info,
        journal=journal,
        approve=approve,
        ask=ask,
        messages=transcript.messages,
        max_turns=config.core.max_turns,
        admission=Admission(config.core.concurrency, config.core.max_waiting_calls),
        dialect=dialect_of(plugins, config.core.dialect) if config.core.dialect else None,
    )


def _check_place(config: Config, say: Callable[[str], None]) -> None:
    """Warn of the home directory; raises ConfigError where a project chose our directories."""
    if config.refusal:
        raise ConfigError(config.refusal)
    if config.warning:
        say(config.warning)


def refuse_misspelt(config: Config, plugins: Plugins) -> None:
    """Raise ConfigError for a plugin's table, or a tool to hide, that is nearly one we have.

    A rule that stands in the table of no plugin holds nobody back.
    """
    problems = misspelt(config, plugins)
    if problems:
        raise ConfigError(problems[0])


def misspelt(config: Config, plugins: Plugins) -> list[str]:
    """Return a line for each name in the configuration that was probably meant otherwise."""
    known = {*plugins.entries, *plugins.set_aside, *config.disabled_plugins}
    lines = list(config.unknown_plugins(frozenset(known), surely=True))
    lines += [unknown.line for unknown in unknown_tools(config, plugins) if unknown.is_slip]
    if not config.disabled_tools:
        return lines
    tools = {*plugins.tools(), *(offer["name"] for _, offer in plugins.offers("tools"))}
    for name in sorted(config.disabled_tools - tools):
        if config.is_only_strangers(name):
            continue
        if hint := did_you_mean(name, tools, cutoff=SURELY_MEANT):
            lines.append(f"{config.where('tools.disable')}: there is no tool {name!r}{hint}")
    return lines


def _opened_journal(
    config: Config,
    root: Path,
    resume: str,
    *,
    persist: bool,
    warn: Callable[[str], None],
    environment: Mapping[str, str],
) -> tuple[Journal | None, Transcript]:
    if not persist:
        return None, Transcript()
    store = SessionStore.of_user(environment, warn=warn)
    if resume:
        records, journal = store.open(resume, cwd=root)
        transcript = repaired(records, journal.artifacts)
        if transcript.cwd and transcript.cwd != str(root):
            warn(f"session {journal.id} was started in {transcript.cwd} and resumes in {root}")
        return journal, transcript
    _, journal = store.create(root, config.core.model, str(config.core.mode))
    return journal, Transcript()


def _model(config: Config, resumed: Transcript, say: Callable[[str], None]) -> str:
    """Return the model that is named: by a flag, by the session that is resumed, by a setting."""
    named = config.core.model
    if not resumed.model or resumed.model == named or config.where("model").layer == "flag":
        return named
    say(f"continuing with {resumed.model}, this session's model (--model chooses another)")
    return resumed.model


def dialect_of(plugins: Plugins, name: str) -> Dialect:
    """Return the dialect called *name*; raises UsageError, or PluginError where two offer it."""
    found = plugins.offered("dialects", name)
    if found is None:
        have = [offer["name"] for _, offer in plugins.offers("dialects")]
        why = plugins.why_missing(name, "dialects")
        instead = f"{did_you_mean(name, have, '.')} Installed: {', '.join(have) or 'none'}"
        instead = f": {why}" if why else instead
        raise UsageError(f"there is no dialect {name!r}{instead}")
    dialect: Dialect = found[1]
    return dialect


def approval_limit_s(ground: Ground) -> float:
    """Return how many seconds a person may take for an approval; 0: no limit.

    A question at a terminal waits as long as it takes, unless the configuration sets a limit.
    """
    is_set = ground.config.where("approval_timeout_s").layer != "default"
    at_terminal = ground.info.interactive and ground.approve is None
    return 0.0 if at_terminal and not is_set else ground.config.core.approval_timeout_s
