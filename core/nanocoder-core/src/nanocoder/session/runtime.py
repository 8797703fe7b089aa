"""What a session works with: plugins, configuration, journal, workspace and open resources."""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, evolve, field
from nanocoder_files import Readable

from nanocoder.config.config import Config
from nanocoder.errors import ConfigError, PluginError, ProviderError, ToolError
from nanocoder.hooks import styles
from nanocoder.hooks.contributions import Journal, Sessions
from nanocoder.path.approval import Approvals, Approver, Asker
from nanocoder.plugins import Plugins
from nanocoder.provider import Provider
from nanocoder.session.conversation import Conversation
from nanocoder.session.delivery import Delivery
from nanocoder.session.installed import configure, refuse_misspelt
from nanocoder.session.models import (
    Chosen,
    choose_model,
    open_provider,
    refuse_unknown_price,
    selected_by_plugin,
)
from nanocoder.session.prompt import system_prompt
from nanocoder.session.report import Report
from nanocoder.session.tool_list import ToolList
from nanocoder.session.workspaces import SessionReadable
from nanocoder.tools.queue import Admission
from nanocoder.tools.session_info import SessionInfo
from nanocoder.values import Usage

if TYPE_CHECKING:
    from nanocoder_files import Workspace


class Parent(Protocol):
    """The session that a child session reports to."""

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

    *max_calls* and *max_tokens* are what one run may use (0: no limit). *remembered_consent* is
    what a person answered with "always". *event_lock* is held while a plugin hears an event, so
    that it hears one at a time, from child sessions, too. *report* is of the latest run.
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
    conversation: Conversation = field(factory=Conversation)
    max_turns: int = 50
    admission: Admission = field(factory=Admission)
    max_calls: int = 0
    max_tokens: int = 0
    parent: Parent | None = None
    remembered_consent: set[tuple[str, ...]] = field(factory=set)
    event_lock: AbstractContextManager[Any] = field(factory=threading.RLock)
    approvals: Approvals = field(init=False)
    delivery: Delivery = field(init=False)
    report: Report = field(init=False)
    _readable: SessionReadable = field(init=False)
    _chosen: Chosen | None = field(default=None, init=False)
    _preferred: Chosen | None = field(default=None, init=False)
    _provider: Provider | None = field(default=None, init=False)
    additions: Sequence[tuple[str, str]] = field(default=(), init=False)
    _system: tuple[Any, str] = field(default=((), ""), init=False)
    _workspace: "Workspace | None" = field(default=None, init=False)
    _resources: dict[tuple[str, str], Any] = field(factory=dict, init=False)
    _resources_lock: threading.Lock = field(factory=threading.Lock, init=False)
    _workspace_lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._readable = SessionReadable(self.plugins, self.info)
        self.info = self._readable.session = evolve(
            self.info, readable=self._readable, find_sandbox=self.sandbox
        )
        self.approvals = self._make_approvals()
        self.delivery = Delivery(
            self.plugins,
            self.journal,
            self.hook_context,
            lambda: self.config.core.durability == "power",
            self.event_lock,
        )
        self.report = Report(session_id=self.info.id)

    def set_info(self, **changes: Any) -> None:
        """Change what policies, and everybody else, know of the session."""
        self.info = self._readable.session = self.approvals.session = evolve(self.info, **changes)

    def hook_context(self) -> dict[str, Any]:
        """Return the arguments that every hook may take."""
        resource = partial(partial, self.resource)
        return {"session": self.info, "settings": self.plugins.settings, "resource": resource}

    @property
    def chosen(self) -> Chosen:
        """The provider and model; raises UsageError or ProviderError."""
        if self._chosen is None:
            self._chosen = choose_model(
                self.plugins, self.info.model, self.info, config=self.config
            )
        return self._chosen

    def open_provider(self) -> Provider:
        """Return the provider, opened at first use.

        Raises: UsageError or ProviderError; also when its price must be known and is not.
        """
        provider = self._provider or self._open(self.chosen)
        if self.info.profile != provider.profile:  # it learned more of its model meanwhile
            self.set_info(profile=provider.profile)
        return provider

    def set_model(self, model: str) -> None:
        """Talk to another model; raises UsageError and changes nothing if there is none."""
        self._open(choose_model(self.plugins, model, self.info))

    def fall_back(self, failed: Sequence[str]) -> str:
        """Talk to the model that a plugin names in place of those that *failed*; return its name.

        Empty when no plugin names one that opens. Raises: UsageError.
        """
        preferred, unusable = self._preferred or self.chosen, list(failed)
        while model := selected_by_plugin(self.plugins, self.info, unusable):
            with suppress(ProviderError):
                self.set_model(model)
                self._preferred = preferred
                return model
            unusable.append(model)
        return ""

    def return_to_preferred(self) -> None:
        """Talk to the session's own model again, after another one answered in its place."""
        if self._preferred is not None:
            self._open(self._preferred)

    def _open(self, chosen: Chosen) -> Provider:
        provider = open_provider(self.plugins, chosen)
        refuse_unknown_price(self.config.core, provider, str(chosen))
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
            self.additions = styles.collect(hooks, self.plugins.report, self.hook_context(), str)
            self._system = key, system_prompt(self.info, [text for _, text in self.additions])
        return self._system[1]

    def open_workspace(self) -> "Workspace":
        """Return the workspace, opened before the first call: a run without calls needs none."""
        with self._workspace_lock:
            if self._workspace is None:
                self._readable.now()  # the policies are asked before the first file is opened
                self._workspace = self.workspace_opener(self._readable)
            return self._workspace

    def add_usage(self, usage: Usage) -> None:
        """Count what a request used, for the latest run and for the sessions around this one."""
        self.report.usage += usage
        if self.parent is not None:
            self.parent.add_usage(usage)

    def spent_limit(self, more: Usage) -> str:
        """Return which limit the latest run, with *more*, has reached, or nothing."""
        if self.parent is not None and self.parent.is_over_budget():
            return "stopped: the parent session's budget is spent"
        core, usage = self.config.core, self.report.usage + more
        tokens = usage.input_tokens + usage.output_tokens
        if core.max_cost_usd and (usage.cost or 0.0) >= core.max_cost_usd:
            return f"stopped at the limit of ${core.max_cost_usd:g} (max_cost_usd, --max-cost)"
        if core.max_tokens and tokens >= core.max_tokens:
            return f"stopped at the limit of {core.max_tokens:,} tokens (max_tokens, --max-tokens)"
        return ""

    def _make_approvals(self) -> Approvals:
        core, info = self.config.core, self.info
        # A question at a terminal waits as long as it takes, unless the configuration sets a limit.
        is_default = self.config.where("approval_timeout_s").layer == "default"
        waits = info.interactive and self.approve is None and is_default
        limit_s = 0.0 if waits else core.approval_timeout_s
        return Approvals(
            self.plugins, info, self.approve, self.ask, self.remembered_consent, limit_s
        )

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

    def wrap(self, argv: list[str], ports: Sequence[int]) -> list[str]:
        """Return *argv* as the session's sandbox runs it; raises ToolError."""
        name, inside = self.config.core.sandbox, self.sandbox()
        offer = self.plugins.offered("sandboxes", name) if inside else None
        return self.resource(offer[0], name).wrap(argv, ports) if offer else argv

    def sandbox(self) -> str:
        """Return what processes run in, "" for nothing; raises ToolError (sandbox_unavailable)."""
        name = self.config.core.sandbox
        if name in ("", "none"):
            return ""
        offer = self.plugins.offered("sandboxes", name)
        if offer is None:
            raise ToolError(f"the sandbox {name!r} is missing", error_class="sandbox_unavailable")
        return str(offer[1].in_force(self.plugins.settings(offer[0])))

    def reload(self) -> None:
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

    def close(self) -> None:
        """Close what was opened, the last first."""
        if self._provider is not None:
            self._provider.close()
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


def kept_in(journal: Journal, info: SessionInfo) -> SessionInfo:
    """Return *info* of a session that *journal* keeps, with its ID and its places."""
    return evolve(info, id=journal.id, folder=journal.artifacts, outputs=journal.outputs)
