"""Which sandbox a session's processes run in: the one by name, or the best that works."""

from collections.abc import Iterator
from typing import Final

from nanocoder_schema import ToolError, UsageError

from nanocoder.hooks.contributions import Sandbox
from nanocoder.plugins import Plugins
from nanocoder.session.installed import find_offer

AUTO: Final = "auto"
NONE: Final = "none"

Chosen = tuple[str, Sandbox, str]
"""The plugin, what it offers, and what processes run in, for people."""


def chosen(plugins: Plugins, name: str) -> Chosen | None:
    """Return the sandbox *name*, None for none; raises ToolError (sandbox_unavailable).

    For "auto" it is the first by rank that can be used, and none where none can.
    """
    if name in ("", NONE):
        return None
    if name == AUTO:
        return next(_usable(plugins), None)
    try:
        plugin, offer = find_offer(plugins, "sandboxes", "sandbox", name)
    except UsageError as error:
        raise ToolError(str(error), error_class="sandbox_unavailable") from error
    in_force = str(offer.in_force(plugins.settings(plugin)))
    return (plugin, offer, in_force) if in_force else None


def why_none(plugins: Plugins) -> list[str]:
    """Return for each sandbox that "auto" tries why it cannot be used."""
    reasons = []
    for plugin, name in _ranked(plugins):
        try:
            plugins.real(plugin, "sandboxes", name).in_force(plugins.settings(plugin))
        except ToolError as error:
            reasons.append(str(error))
    return reasons


def _usable(plugins: Plugins) -> Iterator[Chosen]:
    for plugin, name in _ranked(plugins):
        offer = plugins.real(plugin, "sandboxes", name)
        try:
            in_force = str(offer.in_force(plugins.settings(plugin)))
        except ToolError:
            continue
        if in_force:
            yield plugin, offer, in_force


def _ranked(plugins: Plugins) -> list[tuple[str, str]]:
    offers = plugins.offers("sandboxes")
    ranked = sorted(
        (offer["rank"], entry.name, offer["name"]) for entry, offer in offers if offer.get("rank")
    )
    return [(plugin, name) for _, plugin, name in ranked]
