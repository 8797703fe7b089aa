"""Select the offered tools: the owner of each name, its wrappers, and checks of composed tools."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from nanocoder_discovery import Entry
from nanocoder_schema import Signature, evolve

from nanocoder.errors import PluginError
from nanocoder.hooks.dispatch import Implementation, attempt
from nanocoder.tools.tool import MAX_DEPTH, Tool, Tools
from nanocoder.values import Effect, Risk, manifest_of

TOOLS = "nanocoder_tools"
Offer = tuple[Entry, Mapping[str, Any]]
"""A plugin and its description of a tool."""
DESCRIPTIONS = frozenset({Effect.IDEMPOTENT, Effect.REVERSIBLE})
"""Effects that describe the others."""
Steps = Mapping[str, Sequence[str]]
"""The sub-tools that each tool declares; "*" is checked at each call."""


def choose_owner(
    name: str, offers: Sequence[Offer], owner: str
) -> tuple[Offer | None, dict[str, str]]:
    """Return the offer that wins the tool *name*, and a report for each losing plugin.

    *owner* is the plugin that [tools.owner] names. Without it the plugin installed first keeps the
    tool: a new plugin never takes it over.
    """
    if not owner and len(offers) == 1:
        return offers[0], {}
    names = list(dict.fromkeys(entry.name for entry, _ in offers))
    first = owner or min(offers, key=lambda offer: (offer[0].since, offer[0].name))[0].name
    chosen = [offer for offer in offers if offer[0].name == first]
    problem = f"tool {name!r} is offered by {' and '.join(names)}"
    setting = f"[tools.owner] {name} ="
    if len(chosen) == 1:
        why = f"{problem}; {first} came first and keeps it; set {setting}"
        others = () if owner else {*names} - {first}
        return chosen[0], {other: f'{why} "{other}" to change that' for other in others}
    if owner and not chosen:
        problem += f" and not by {owner}, its [tools.owner]"
    return None, {offers[-1][0].name: f'{problem}; set {setting} "PLUGIN", or disable one'}


def stub(
    name: str, entry: Entry, offer: Mapping[str, Any], load: Callable[[], Tool[..., Any]]
) -> Tool[..., Any]:
    """Return a plugin's tool as *offer* describes it; *load* is called at its first use."""
    owner: dict[str, Any] = {"name": name, "plugin": entry.name, "version": entry.version}
    manifest, signature = {**offer, **owner}, Signature.of_function(_not_loaded)
    if sys.flags.optimize > 1:  # Python drops docstrings, and with them most descriptions
        owner["description"] = offer["description"]
    # Cached, so that all calls of a session use the same object.
    real = cache(lambda: _unchanged(manifest, evolve(load(), schema=offer["schema"], **owner)))
    return Tool(handler=_not_loaded, signature=signature, load=real, **manifest)


def _unchanged(described: Mapping[str, Any], real: Tool[..., Any]) -> Tool[..., Any]:
    """Return *real*; raises PluginError if it differs from *described*, which policies judged."""
    if changed := [key for key, value in manifest_of(real).items() if described[key] != value]:
        problem = f"tool {real.name!r} has another {changed[0]} now than when it was described"
        raise PluginError(real.plugin, f"{problem}; restart nanocoder to see and judge it anew")
    return real


def _not_loaded(**_: Any) -> Any:
    raise RuntimeError("this tool is known only from the manifest; call its real()")


def wrapped_by(implementation: Implementation, context: Mapping[str, Any]) -> Tools:
    """Return the tools of *context* with those that a plugin wraps or adds; raises PluginError."""
    from nanocoder.plugins.introspect import offered  # few sessions wrap a tool

    plugin, tools = implementation.plugin, context["tools"]
    value = offered(plugin, TOOLS, attempt(implementation, context), Tool)
    wrapped = {tool.name: tool for tool in value}
    for name, tool in wrapped.items():
        is_own = tool.plugin == plugin and name not in tools
        if not is_own and (problem := _wrapper_problem(tool, tools.get(name))):
            raise PluginError(plugin, f"{TOOLS} may not replace {name!r}: {problem}")
    return {**tools, **wrapped}


def _wrapper_problem(wrapped: Tool[..., Any], tool: Tool[..., Any] | None) -> str:
    """Return the reason why *wrapped* may not replace *tool*, whose declarations policies use."""
    if tool is None:
        return "no plugin offers it"
    order = list(Risk)
    if order.index(wrapped.risk) < order.index(tool.risk):
        return f"its risk may not fall from {tool.risk} to {wrapped.risk}"
    # These are promises, such as "may be repeated": without one, a wrapper is only stricter.
    missing = sorted((tool.effects - DESCRIPTIONS) - wrapped.effects)
    return f"it still has the effect {missing[0]}" if missing else ""


def unsound(steps: Steps) -> dict[str, str]:
    """Return, by name, the problem of each tool that calls itself or nests too deep."""
    problems = {
        name: f"tool {name!r} leads back to itself: {' -> '.join(circle)}"
        for name in steps
        if (circle := _cycle_from(name, steps))
    }
    deep = steps.keys() - problems
    for _ in range(MAX_DEPTH + 1):  # each round keeps those with one level more
        deep = {name for name in deep if not deep.isdisjoint(steps[name])}
    limit = f"nests deeper than {MAX_DEPTH} levels of composed_of; let it call the innermost tools"
    return problems | {name: f"tool {name!r} {limit} directly" for name in steps if name in deep}


def _cycle_from(start: str, steps: Steps) -> list[str]:
    """Return the shortest cycle from *start* to itself, or an empty list."""
    ways, visited = [[start]], set[str]()
    for way in ways:  # grows during the loop, the shortest ways first
        for step in steps.get(way[-1], ()):
            if step == start:
                return [*way, start]
            if step not in visited:
                visited.add(step)
                ways.append([*way, step])
    return []
