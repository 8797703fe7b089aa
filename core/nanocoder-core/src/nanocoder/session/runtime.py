"""The state of a session: plugins, configuration, journal, workspace and open resources."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import Factory
from nanocoder_files import Readable
from nanocoder_schema import ConfigError, ToolError, evolve, mutable, problem_of

from nanocoder.call.approval import Approvals
from nanocoder.call.state import Approver, Asker
from nanocoder.cancel import Cancel
from nanocoder.config import Config
from nanocoder.errors import Cancelled, PluginError, ProviderError
from nanocoder.hooks import dispatch
from nanocoder.hooks.interfaces import Journal, OpenSandbox, Sandbox, Sessions
from nanocoder.plugins import Plugins
from nanocoder.provider import Provider, Request
from nanocoder.session import models, sandboxes
from nanocoder.session.conversation import Conversation
from nanocoder.session.model_view import ToolList, system_prompt
from nanocoder.session.report import Report
from nanocoder.session.setup import configure, refuse_misspelt
from nanocoder.session.workspaces import SessionReadable
from nanocoder.tools.queue import Admission
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import ToolInfo, Tools
from nanocoder.values import Access, Effect, Message, Usage

if TYPE_CHECKING:
    from nanocoder_files import Workspace


class _Working:
    """A session's working state. It has no fields: a copy of the session starts with its own."""

    def __attrs_pre_init__(self) -> None:
        self._chosen: models.Chosen | None = None
        self._preferred: models.Chosen | None = None
        self._provider: Provider | None = None
        self._latest: tuple[Request, Request] | None = None
        self.additions: Sequence[tuple[str, str]] = ()
        self._system: tuple[Any, str] = ((), "")
        self._workspace: Workspace | None = None
        self._resources: dict[tuple[str, str], Any] = {}
        self._sandbox: OpenSandbox | None = None
        self._in_use: sandboxes.Chosen | None = None
        self._resources_lock, self._workspace_lock = threading.Lock(), threading.Lock()
        self._inner_usage = Usage()
        self._inner_lock = threading.Lock()


@mutable
class Runtime(_Working):
    """The state of one session; closed with the session.

    The session of a sub-agent is a copy of its parent's, so both share every field that
    `sub_sessions.py` does not replace.

    *max_turns*, *max_calls* and *max_tokens* limit one run (0: no limit). *remembered_consent*
    counts for how many more calls an approval holds. *event_lock* is held while a plugin handles an
    event, so that it gets one at a time, from child sessions, too. A child has a *parent*;
    *on_close* removes it there. *notices* are shown at its start. *report* is of the latest run.
    """

    plugins: Plugins
    config: Config
    info: SessionInfo
    tool_list: ToolList
    workspace_opener: "Callable[[Readable], Workspace]"
    sessions: Sessions | None = None
    journal: Journal | None = None
    approve: Approver | None = None
    ask: Asker | None = None
    conversation: Conversation = Factory(Conversation)
    max_turns: int = 0
    admission: Admission = Factory(Admission)
    notices: Sequence[str] = ()
    max_calls: int = 0
    max_tokens: int = 0
    parent: "Runtime | None" = None
    on_close: Callable[[], None] = lambda: None
    remembered_consent: dict[tuple[str, ...], int] = Factory(dict)
    event_lock: AbstractContextManager[Any] = Factory(threading.RLock)

    def __attrs_post_init__(self) -> None:
        self._readable = SessionReadable(self.plugins, self.info)
        self.set_info(readable=self._readable, find_sandbox=self.sandbox, wrap=self.wrap)
        self.approvals = Approvals(self)
        self.report = Report(session_id=self.info.id)

    def set_info(self, **changes: Any) -> None:
        """Change fields of the session's info."""
        self.info = self._readable.session = evolve(self.info, **changes)

    def hook_context(self, **subject: Any) -> dict[str, Any]:
        """Return the arguments that every hook may take, and those of one hook, its *subject*."""
        own = {"settings": self.plugins.settings, "resource": partial(partial, self.resource)}
        return {"session": self.info, **own, **subject}

    @property
    def tools(self) -> Tools:
        """The tools on offer, by name."""
        return self.tool_list.tools()

    def _has(self, need: str, plugin: str) -> bool:
        """Return True if the need of a tool of *plugin* is met, loading the plugin only if it must.

        Raises: ConfigError.
        """
        if need == "person":
            is_reached = self.parent is None or self.info.answered
            return self.info.interactive or (is_reached and self.ask is not None)
        if self._offers_resource(plugin, need):
            return bool(self.resource(plugin, need))
        is_set = plugin in self.config.plugins_with_settings
        return is_set and bool(getattr(self.plugins.settings(plugin), need, None))

    def tool_infos(self) -> tuple[ToolInfo, ...]:
        """Return the descriptions of the offered tools, for other tools."""
        return self.tool_list.infos(self.info, self._has)

    @property
    def chosen(self) -> models.Chosen:
        """The provider and model; raises UsageError or ProviderError."""
        if self._chosen is None:
            self._chosen = models.choose_model(
                self.plugins, self.info.model, self.info, config=self.config
            )
        return self._chosen

    def open_provider(self) -> Provider:
        """Return the provider, opened at first use.

        Raises: UsageError or ProviderError; also if its price must be known and is not.
        """
        provider = self._provider or self._open(self.chosen)
        if self.info.profile != provider.profile:  # the provider now knows its model better
            self.set_info(profile=provider.profile)
        return provider

    @property
    def window_tokens(self) -> int:
        """The context window in tokens: as configured, or as declared by the provider, else 0."""
        return self.config.core.context or getattr(self.open_provider(), "context", 0)

    def next_request(self, messages: Sequence[Message]) -> Request:
        """Return the next request with *messages*, as rewritten by plugins.

        Raises: StopRun, and whatever else a plugin raises.
        """
        request = self._request(messages)
        chain = self.plugins.implementations("nanocoder_before_request")
        sent = dispatch.chain(chain, self.hook_context(request=request), "request", Request)
        self._latest = request, sent
        return sent

    def expected_request(self) -> Request:
        """Return the expected next request, with prompt and tools as plugins last rewrote them."""
        request = self._request(self.conversation.messages)
        before, sent = self._latest or (request, request)
        # The same objects, so plugins would rewrite them in the same way.
        if before.system is request.system and before.tools is request.tools:
            request = evolve(request, system=sent.system, tools=sent.tools)
        return request

    def _request(self, messages: Sequence[Message]) -> Request:
        return Request(
            model=self.info.model.partition("/")[2],
            system=self.system,
            messages=messages,
            tools=self.tool_list.definitions(self.info, self._has),
            session_id=self.info.id,
            answer_schema=self.info.answer_schema,
        )

    def set_model(self, model: str) -> None:
        """Use another model from the next turn on.

        Raises: UsageError, and changes nothing, if it does not exist.
        """
        self.config.refuse_change("model", model)
        self._open(models.choose_model(self.plugins, model, self.info))

    def fall_back(self, failed: Sequence[str]) -> str:
        """Use the model that a plugin names in place of those that *failed*; return its name.

        Returns "" if no plugin names one that opens. Raises: UsageError.
        """
        preferred, unusable = self._preferred or self.chosen, list(failed)
        while model := models.selected_by_plugin(self.plugins, self.info, unusable):
            with suppress(ProviderError):
                self._open(models.choose_model(self.plugins, model, self.info))
                self._preferred = preferred
                return model
            # The plugin must not name it again, or the loop would not end.
            unusable.append(model)
        return ""

    def return_to_preferred(self) -> None:
        """Use the session's own model again, after another one answered in its place."""
        if self._preferred is not None:
            self._open(self._preferred)

    def _open(self, chosen: models.Chosen) -> Provider:
        provider = models.open_provider(self.plugins, chosen)
        models.refuse_unknown_price(self.config.core, provider, str(chosen))
        # Closed only now: if the new one cannot be opened, the session continues with the old one.
        if self._provider is not None:
            self._provider.close()
        self._chosen, self._provider, self._preferred = chosen, provider, None
        self.set_info(model=str(chosen), profile=provider.profile)
        return provider

    @property
    def system(self) -> str:
        """The system prompt; the same text until the mode or the profile changes."""
        key = self.info.mode, self.info.profile
        if self._system[0] != key:
            hooks = self.plugins.implementations("nanocoder_prompt")
            self.additions = dispatch.collect(hooks, self.plugins.report, self.hook_context(), str)
            executes = any(Effect.EXECUTE in tool.effects for tool in self.tools.values())
            # The start reports it if no sandbox works.
            works = sandboxes.is_wanted(self.config) and not self.notices
            is_sandboxed = works if executes else None
            additions = [text for _, text in self.additions]
            self._system = key, system_prompt(self.info, additions, is_sandboxed=is_sandboxed)
        return self._system[1]

    def open_workspace(self) -> "Workspace":
        """Return the workspace, opened before the first call: a run without calls needs none."""
        with self._workspace_lock:
            if self._workspace is None:
                self._readable.now()  # policies are called before the first file is opened
                self._workspace = self.workspace_opener(self._readable)
            return self._workspace

    def add_usage(self, usage: Usage) -> None:
        """Add a request's usage to the latest run and to the parent session."""
        self.report.usage += usage
        if self.parent is not None:
            self.parent.add_inner(usage)

    def add_inner(self, usage: Usage) -> None:
        """Add a child session's usage; called on any thread."""
        with self._inner_lock:
            self._inner_usage += usage

    def settle(self) -> None:
        """Add child sessions' usage since the last time to the report."""
        with self._inner_lock:
            usage, self._inner_usage = self._inner_usage, Usage()
        self.report.usage += usage

    def spent_limit(self) -> str:
        """Return a message that names the limit that the latest run has reached, or ""."""
        if self.parent is not None and self.parent.spent_limit():
            return "stopped: the parent session's budget is spent"
        core, usage = self.config.core, self.report.usage + self._inner_usage
        tokens = usage.input_tokens + usage.output_tokens
        if core.max_cost_usd and (usage.cost or 0.0) >= core.max_cost_usd:
            return f"stopped at the limit of ${core.max_cost_usd:g} (max_cost_usd, --max-cost)"
        if core.max_tokens and tokens >= core.max_tokens:
            return f"stopped at the limit of {core.max_tokens:,} tokens (max_tokens, --max-tokens)"
        return ""

    def resource(self, plugin: str, name: str) -> Any:
        """Return the session's resource, opening it at first use.

        Raises: ToolError for a name that the plugin does not offer.
        """
        with self._resources_lock:
            if (plugin, name) not in self._resources:
                if not self._offers_resource(plugin, name):
                    raise ToolError(f"plugin {plugin!r} offers no resource {name!r}")
                real = self.plugins.real(plugin, "resources", name)
                self._resources[plugin, name] = real.open(self.info, self.plugins.settings(plugin))
            return self._resources[plugin, name]

    def _offers_resource(self, plugin: str, name: str) -> bool:
        entry = self.plugins.entries.get(plugin)
        return entry is not None and any(it["name"] == name for it in entry.offers("resources"))

    def news(self, cancel: Cancel | None = None) -> list[str]:
        """Return the resources' news for the model; with *cancel* wait until their work is done."""
        each = self._each([*self._resources.items()], "news_for_model", cancel)
        reword = getattr(self.tool_list.dialect, "reword", str)
        return [reword(line) for lines in each for line in lines]

    def _each(
        self, parts: Iterable[tuple[Any, Any]], method: str, *arguments: Any
    ) -> Iterator[Any]:
        """Yield the result of *method* of each part, if it has one; a failure is reported."""
        for (plugin, name), part in parts:
            try:
                if hasattr(part, method):
                    yield getattr(part, method)(*arguments)
            except Cancelled:
                raise
            except Exception as error:  # noqa: BLE001 - a plugin's resource never ends the session
                problem = f"{method} of {name} failed: {problem_of(error)}"
                self.plugins.report(PluginError(plugin, problem))

    def keep_output(self, name: str, data: bytes) -> str:
        """Store a full output beside the journal; return its path, or "" on failure."""
        return "" if self.journal is None else self.journal.output(name, data)

    def wrap(
        self, argv: list[str], ports: Sequence[int] = (), access: Access | None = None
    ) -> list[str]:
        """Return *argv* as the session's sandbox runs it with *access*; raises ToolError."""
        chosen = None if access is Access.OUTSIDE else self._chosen_sandbox()
        if chosen is None:
            return argv
        self._sandbox = self.resource(chosen[0], chosen[1].name)
        return self._sandbox.wrap(argv, ports, access or Access.WRITE)

    def sandbox_changes(self) -> Sequence[str]:
        """Return a line for each change that the sandbox has undone, if it was used."""
        return self._sandbox.changes() if self._sandbox else ()

    def sandbox(self) -> str:
        """Return the name of the sandbox that processes run in; "" if the settings want none.

        Raises: ToolError (sandbox_unavailable), also where none works.
        """
        chosen = self._chosen_sandbox()
        if chosen is None and self.config.core.sandbox == sandboxes.AUTO:
            problem = "no sandbox works here (nanocoder doctor)"
            raise ToolError(problem, error_class="sandbox_unavailable")
        return chosen[2] if chosen else ""

    def _chosen_sandbox(self) -> "tuple[str, Sandbox, str] | None":
        core = self.config.core
        chosen = self._in_use = sandboxes.chosen(self.plugins, core.sandbox, self._in_use)
        if chosen is None and core.require_sandbox:
            problem = "no sandbox is in force, and require_sandbox demands one (nanocoder doctor)"
            raise ToolError(problem, error_class="sandbox_unavailable")
        return chosen

    def reload(self) -> None:
        """Read the configuration again; it applies to policies, tools and settings from now on.

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

    def close(self) -> None:
        """Close all resources, the last first; a failure is reported."""
        parts = {**self._resources, ("provider", self.info.model): self._provider}
        # A later resource may use an earlier one until it is closed.
        for _ in self._each(reversed(parts.items()), "close"):
            pass
        self._resources.clear()
        for own in (self.journal, self._workspace):
            getattr(own, "close", bool)()
        self.on_close()


def kept_in(journal: Journal, info: SessionInfo) -> SessionInfo:
    """Return *info* with the ID and the directories of *journal*."""
    return evolve(info, id=journal.id, folder=journal.artifacts, outputs=journal.outputs)
