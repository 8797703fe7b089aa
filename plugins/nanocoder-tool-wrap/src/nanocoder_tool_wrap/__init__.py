"""Retry, time limit, fallback and mediator around any tool: by configuration, or in code."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen
from nanocoder import PluginError, Tool, did_you_mean, hookimpl

from nanocoder_tool_wrap.mediator import with_mediator
from nanocoder_tool_wrap.wrappers import call_as_step, with_fallback, with_retry, with_timeout

__all__ = ["Settings", "with_fallback", "with_mediator", "with_retry", "with_timeout"]

NAME = "tool-wrap"
Tools = Mapping[str, Tool[..., Any]]


def _at_least(least: float) -> Any:
    """Check that each value of a table is a finite number of at least *least*."""

    def check(_: object, attribute: Any, table: Mapping[str, float]) -> None:
        for tool, number in table.items():
            if not least <= number < math.inf:
                raise ValueError(
                    f"{attribute.name}.{tool}: expected a number of at least {least:g}"
                )

    return check


@frozen
class Settings:
    """The table [plugins.tool-wrap]: a value by tool, except for the mediator of all tools.

    Only your own configuration may retry or replace calls; the file of a folder that you trust may
    set time limits.
    """

    retry: dict[str, int] = field(
        factory=dict,
        validator=_at_least(1),
        metadata={"description": "How often a failing call is tried.", "user_only": True},
    )
    repeatable: tuple[str, ...] = field(
        default=(),
        metadata={"description": "Tools that change, and may be tried again.", "user_only": True},
    )
    wait_s: dict[str, float] = field(
        factory=dict,
        validator=_at_least(0),
        metadata={"description": "How many seconds between two tries.", "user_only": True},
    )
    timeout_s: dict[str, float] = field(
        factory=dict,
        validator=_at_least(0),
        metadata={"description": "After how many seconds a call ends; 0: never."},
    )
    fallback: dict[str, str] = field(
        factory=dict,
        metadata={"description": "The tool that gets a call that failed.", "user_only": True},
    )
    mediator: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": "The program that gets each call of each tool first.",
            "user_only": True,
        },
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.tool-wrap]."""
    return Settings


@hookimpl
def nanocoder_tools(tools: Tools, settings: Settings) -> list[Tool[..., Any]]:
    """Return the configured tools, wrapped without loading them."""
    for key, name in _names(settings):
        hint = did_you_mean(name, tools)
        if name not in tools and hint:
            raise _problem(key, f"there is no tool {name!r}{hint}")
    named = {*settings.retry, *settings.timeout_s, *settings.fallback} & set(tools)
    if settings.mediator:
        named = set(tools)
    return [_wrap_lazily(tools[name], tools, settings) for name in sorted(named)]


def _names(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each tool that the settings name, and the key that names it."""
    for key in ("retry", "wait_s", "timeout_s", "fallback"):
        for name in getattr(settings, key):
            yield f"{key}.{name}", name
    yield from (("repeatable", name) for name in settings.repeatable)
    for name, other in settings.fallback.items():
        yield f"fallback.{name}", other


def _wrap_lazily(tool: Tool[..., Any], tools: Tools, settings: Settings) -> Tool[..., Any]:
    """Wrap the definition of *tool* now, and its handler when the first call needs it."""
    other = tools.get(settings.fallback.get(tool.name, ""))
    if other is not None and (other.name == tool.name or other.name in settings.fallback):
        problem = f"{other.name} cannot stand in for {tool.name}: it needs a fallback itself"
        raise _problem(f"fallback.{tool.name}", problem)

    def load() -> Tool[..., Any]:
        return _wrap(tool.real(), other and other.real(), settings)

    return evolve(_wrap(tool, other, settings), load=load)


def _wrap(tool: Tool[..., Any], other: Tool[..., Any] | None, settings: Settings) -> Tool[..., Any]:
    name = tool.name
    attempts = settings.retry.get(name, 1)
    key = f"retry.{name}"
    try:
        if attempts > 1:
            wait_s, repeatable = settings.wait_s.get(name, 0.0), name in settings.repeatable
            tool = with_retry(tool, attempts, wait_s=wait_s, repeatable=repeatable)
        key = f"fallback.{name}"
        if other is not None:
            tool = with_fallback(tool, call_as_step(other))
    except PluginError as error:
        raise _problem(key, error.problem) from None
    if settings.mediator:
        tool = with_mediator(tool, settings.mediator)
    if name in settings.timeout_s:
        tool = with_timeout(tool, settings.timeout_s[name])
    return evolve(tool, load=None)


def _problem(key: str, problem: str) -> PluginError:
    return PluginError(NAME, f"plugins.{NAME}.{key}: {problem}")
