"""The core's own settings, and the configuration of one start.

Each value is the strongest of default < user < project < environment < flag, and
`nanocoder_config` knows where it came from.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal

from attrs import Factory
from nanocoder_config import LayeredConfig, setting
from nanocoder_schema import value

from nanocoder.values import Mode

_limit: Final = partial(setting, tighten="min", unlimited=0)
_own: Final = partial(setting, user_only=True)


@value
class CoreSettings:
    """The top-level keys of config.toml."""

    model: str = setting("", "The model, as provider/model; empty: the first usable provider.")
    mode: Mode = setting(
        Mode.ASK,
        "The mode, which decides what needs approval: plan, ask, edits or auto.",
        converter=Mode,
        tighten="order",
        choices=tuple(Mode),
    )
    context: int = _limit(0, "The model's context window, in tokens; 0: what its provider says.")
    max_turns: int = _limit(
        0,
        "The turn limit of a run; one more asks for the answer. 0: none with a person, else 250.",
    )
    max_cost_usd: float = _limit(0.0, "The cost limit of a run in US dollars; 0: no limit.")
    max_tokens: int = _limit(0, "The token limit of a run, in and out; 0: no limit.")
    max_seconds: float = _limit(0.0, "The time limit of a run, in seconds; 0: no limit.")
    call_timeout_s: float = _limit(120.0, "The time limit of a tool call, in seconds; 0: no limit.")
    concurrency: int = setting(8, "The limit of calls that work at once.", tighten="min", minimum=1)
    max_waiting_calls: int = setting(
        128,
        "The limit of waiting calls; further ones fail as busy.",
        tighten="min",
        minimum=0,
    )
    approval_timeout_s: float = _limit(
        300.0, "The time limit of an approval, in seconds; 0: no limit."
    )
    durability: Literal["normal", "power"] = setting(
        "normal",
        "power: the journal survives a power cut, not just a crash.",
        choices=("normal", "power"),
    )
    store: str = _own("files", 'The store of sessions, by its name; "memory" saves nothing.')
    sandbox: str = _own(
        "auto", "The sandbox that tools run processes in; auto: the best that works; none."
    )
    require_sandbox: bool = setting(
        False, "Start no session whose processes would run without a sandbox.", tighten="true"
    )
    dialect: str = setting("", "The dialect in which tools are offered; empty: their own names.")
    keep_tmp: bool = _own(
        False, "Keep the private directories of calls, to see what a tool did there."
    )
    keep_backups: int = _own(
        10, "The number of backups of each changed file in a session.", minimum=1
    )
    keep_sessions_days: int = _own(30, "The age in days at which sessions are deleted; 0: never.")


@value
class PluginsTable:
    """The keys of `[plugins]` that are not a plugin's table."""

    disable: tuple[str, ...] = setting((), "Plugins that are not loaded.")
    strict: bool = setting(False, "Load only what the lock file names.", tighten="true")


@value
class ToolsTable:
    """The keys of `[tools]`."""

    disable: tuple[str, ...] = setting((), "Tools that are not offered.", tighten="union")
    owner: dict[str, str] = setting(
        Factory(dict), "Which plugin provides a tool that several plugins offer."
    )
    rename: dict[str, str] = setting(
        Factory(dict),
        "Other names for tools, old name to new name.",
        values="[a-z_][a-z0-9_]{0,63}",
    )


TABLES: Final[Mapping[tuple[str, ...], type]] = {
    (): CoreSettings,
    ("plugins",): PluginsTable,
    ("tools",): ToolsTable,
}
"""The core's own tables; `[plugins]` contains the tables of plugins, too."""


class Config(LayeredConfig):
    """Settings merged from all layers: core settings as attributes, plugins' through `settings`.

    *core* holds the core's settings. *strict* and *disabled_plugins* select the plugins to load,
    *tool_owner*, *tool_rename* and *disabled_tools* the tools to offer. No layer disables a plugin
    that has managed settings.
    """

    tables = TABLES

    def __init__(self, *layers: Any, **options: Any) -> None:
        super().__init__(*layers, **options)
        self.core: CoreSettings = self.values[()]
        plugins, tools = self.values["plugins",], self.values["tools",]
        managed = self.managed_plugins.intersection(plugins.disable)
        self.notices += tuple(
            f"plugins.disable: {name!r} has managed settings; ignored" for name in sorted(managed)
        )
        self.disabled_plugins = frozenset(plugins.disable) - managed
        self.strict = plugins.strict
        self.disabled_tools = frozenset(tools.disable)
        self.tool_owner = tools.owner
        self.tool_rename = tools.rename
