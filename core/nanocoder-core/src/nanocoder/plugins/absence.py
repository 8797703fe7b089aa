"""Why what somebody asks for is not on offer: switched off, renamed, or its plugin is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nanocoder_schema import did_you_mean

from nanocoder.plugins.manifest import Entry


def unknown(name: str, tools: Collection[str], why: str) -> str:
    """Return what is said of a call to *name*: *why* it is not there, else the nearest names."""
    have = ", ".join(tools) or "none; install a nanocoder-tool-* package"
    if why:
        return f"Unknown tool: {name}; {why}. Tools: {have}"
    return f"Unknown tool: {name}{did_you_mean(name, tools, '.', limit=3)} Tools: {have}"


def of_tools(
    name: str,
    called: Sequence[tuple[str, Mapping[str, Any]]],
    hidden: Collection[str],
    left_out: Mapping[str, str],
) -> str:
    """Return why a plugin's tool is not offered as *name*; nothing when no plugin has it.

    *called* has what each tool is called here beside its description, *hidden* the names that are
    switched off, *left_out* why the other tools that nobody gets are left out.
    """
    for here, offer in called:
        if name not in {here, offer["name"]}:
            continue
        if here in hidden:
            return "tools.disable switches it off (nanocoder config where tools.disable)"
        if here != name:
            return f"tools.rename calls it {here!r}"
        return left_out.get(name, "")
    return ""


def of_plugins(name: str, what: str, out: Mapping[str, tuple[Entry, str]]) -> str:
    """Return which of the plugins that do not count has *name*, and the reason that *out* gives."""
    for plugin, (entry, reason) in out.items():
        if any(offer["name"] == name for offer in entry.offers(what)):
            return f"the plugin {plugin!r} has it, but {reason}"
    return ""
