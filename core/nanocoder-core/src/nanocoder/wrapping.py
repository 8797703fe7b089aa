"""Wrappers from `[tools.wrap.NAME]`: tools tried again, limited in time or replaced, without code.

Nothing is loaded for it: what a tool is known by is wrapped at once, its handler when it is needed.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import evolve
from nanocoder_schema import SURELY_MEANT, did_you_mean

from nanocoder.config.config import Config
from nanocoder.config.settings import Wrap
from nanocoder.errors import ConfigError, PluginError
from nanocoder.plugins import Plugins
from nanocoder.tools.tool import Tool, ToolContext
from nanocoder.values import ToolResult
from nanocoder.wrappers import as_sent, with_fallback, with_retry, with_timeout

Tools = dict[str, Tool[..., Any]]
"""How alike two names are, from 0 to 1, when one is a slip of the other."""


def configure(plugins: Plugins, config: Config) -> None:
    """Apply the configuration: settings, disabled plugins, owners, names and wrappers of tools.

    Raises: ConfigError for a tool that is wrapped and not there, or cannot be wrapped so.
    """
    plugins.configure(
        config.settings,
        disabled=config.disabled_plugins,
        owners=config.tool_owner,
        names=config.tool_rename,
        hidden=config.disabled_tools,
        wrap=partial(wrapped, config=config),
    )
    if config.tool_wraps:
        _refuse_unknown(config, plugins)


def wrapped(tools: Tools, config: Config) -> Tools:
    """Return *tools* as the configuration wraps them; what it names and is not here is left out.

    Raises: ConfigError for a wrapper that a tool cannot have.
    """
    return {**tools, **dict(_wrapped_ones(tools, config))}


def _refuse_unknown(config: Config, plugins: Plugins) -> None:
    """Raise ConfigError for a wrapper of, or a fallback to, a tool that there is not.

    Where plugins were disabled or set aside, only for a name that is nearly one of a tool.
    """
    complete = not (config.disabled_plugins or plugins.set_aside)
    known = {*plugins.tools(), *config.disabled_tools}
    for name, key, wanted in _named(config):
        hint = did_you_mean(wanted, known, cutoff=0.0 if complete else SURELY_MEANT)
        if wanted in known or not (complete or hint):
            continue
        if reason := plugins.why_missing(wanted):
            hint = f"; {reason}"
        raise _fault(config, name, key, f"there is no tool {wanted!r}{hint}")


def _named(config: Config) -> Iterator[tuple[str, str, str]]:
    """Yield the wrapped tool, the key and the name of each tool that the user's tables name."""
    for name, wrap in config.tool_wraps.items():
        if not config.is_only_tightening(name):
            yield name, "", name
        if wrap.fallback:
            yield name, "fallback", wrap.fallback


def _wrapped_ones(tools: Tools, config: Config) -> Iterator[tuple[str, Tool[..., Any]]]:
    for name, wrap in config.tool_wraps.items():
        if name in tools:
            other = tools.get(wrap.fallback) if wrap.fallback else None
            yield name, _lazily(tools[name], wrap, other, config)


def _lazily(
    tool: Tool[..., Any], wrap: Wrap, other: Tool[..., Any] | None, config: Config
) -> Tool[..., Any]:
    """Wrap what is known of *tool*, and the tool itself when somebody loads it."""
    _refuse_circles(tool, other, config)

    def load_it() -> Tool[..., Any]:
        return _with(tool.real(), wrap, None if other is None else other.real(), config)

    return evolve(_with(tool, wrap, other, config), load=load_it)


def _with(
    tool: Tool[..., Any], wrap: Wrap, other: Tool[..., Any] | None, config: Config
) -> Tool[..., Any]:
    made = tool
    try:
        if wrap.retry > 1:
            made = with_retry(made, wrap.retry, wait_s=wrap.wait_s)
    except PluginError as error:
        raise _fault(config, tool.name, "retry", error.problem) from None
    try:
        if other is not None:
            made = with_fallback(made, _as_step(other))
    except PluginError as error:
        raise _fault(config, tool.name, "fallback", error.problem) from None
    limit = _limit(tool, wrap, config)
    return evolve(with_timeout(made, limit), load=None) if limit else evolve(made, load=None)


def _as_step(other: Tool[..., Any]) -> Tool[..., Any]:
    """Return *other* as a step of the call that it stands in for: with its own settings, judged."""

    def step(ctx: ToolContext, **arguments: Any) -> ToolResult:
        return ctx.call(other.name, as_sent(arguments))

    return evolve(other, handler=step, composed_of=(other.name,), load=None)


def _limit(tool: Tool[..., Any], wrap: Wrap, config: Config) -> float:
    """Return the limit that a call gets, in seconds; 0: the one it had without a wrapper."""
    own = config.core.call_timeout_s if tool.timeout_s is None else tool.timeout_s
    if wrap.timeout_s and own and config.is_only_tightening(tool.name, "timeout_s"):
        return min(wrap.timeout_s, own)
    return wrap.timeout_s


def _refuse_circles(tool: Tool[..., Any], other: Tool[..., Any] | None, config: Config) -> None:
    if other is None:
        return
    further = config.tool_wraps.get(other.name)
    if other.name == tool.name or (further is not None and further.fallback):
        said = f"{other.name} cannot stand in for {tool.name}: it needs a fallback itself"
        raise _fault(config, tool.name, "fallback", said)


def _fault(config: Config, tool: str, key: str, problem: str) -> ConfigError:
    where = config.where_wrapped(tool, key)
    return ConfigError(f"{where}: tools.wrap.{tool}{'.' + key if key else ''}: {problem}")
