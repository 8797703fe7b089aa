"""Who offers which tool, and the tool as the manifest alone describes it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nanocoder.plugins.manifest import Entry
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect, Risk

Offer = tuple[Entry, Mapping[str, Any]]
"""A plugin and its description of a tool."""
Claims = Mapping[str, Sequence[Offer]]
"""Who offers each tool, by what it is called here."""


def choose_owner(
    name: str, offers: Sequence[Offer], owner: str
) -> tuple[Offer | None, dict[str, str]]:
    """Return whose tool *name* is, and by plugin what to say to the others.

    *owner* is the one that [tools.owner] names. Without it the plugin that came first keeps the
    tool: a newcomer takes it neither for itself nor away from everybody.
    """
    if not owner and len(offers) == 1:
        return offers[0], {}
    first = owner or min(offers, key=lambda offer: (offer[0].since, offer[0].name))[0].name
    chosen = [offer for offer in offers if offer[0].name == first]
    names = list(dict.fromkeys(entry.name for entry, _ in offers))
    problem = f"tool {name!r} is offered by {' and '.join(names)}"
    if len(chosen) == 1:
        others = [] if owner else [other for other in names if other != first]
        why = f"{first} came first and keeps it"
        choice = 'set [tools.owner] {} = "{}" to change that'
        return chosen[0], {
            other: f"{problem}; {why}; {choice.format(name, other)}" for other in others
        }
    if owner and not chosen:
        problem += f" and not by {owner}, its [tools.owner]"
    return None, {
        offers[-1][0].name: f'{problem}; set [tools.owner] {name} = "PLUGIN", or disable one'
    }


def stub(
    name: str, entry: Entry, offer: Mapping[str, Any], load: Callable[[], Tool[..., Any]]
) -> Tool[..., Any]:
    """Return a plugin's tool as *offer* describes it; *load* is called at its first use."""
    from nanocoder_schema import Signature

    return Tool(
        name=name,
        description=offer["description"],
        handler=_not_loaded,
        signature=Signature.of_function(_not_loaded),
        risk=Risk(offer["risk"]),
        effects=frozenset(map(Effect, offer["effects"])),
        composed_of=tuple(offer["composed_of"]),
        single_confirmation=offer["single_confirmation"],
        transactional=offer["transactional"],
        timeout_s=offer["timeout_s"],
        examples=tuple(offer["examples"]),
        repeatable=offer["repeatable"],
        reveals=offer["reveals"],
        commands=tuple(offer["commands"]),
        short=offer["short"],
        plugin=entry.name,
        version=entry.version,
        schema=offer["schema"],
        tokens=offer["tokens"],
        load=_once(load),
    )


def _not_loaded(**_: Any) -> Any:
    raise RuntimeError("this tool is known from the manifest alone; call its real()")


def _once(load: Callable[[], Tool[..., Any]]) -> Callable[[], Tool[..., Any]]:
    found: list[Tool[..., Any]] = []

    def load_once() -> Tool[..., Any]:
        if not found:
            found.append(load())
        return found[0]

    return load_once
