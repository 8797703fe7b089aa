"""The grammar of a reply for engines with llguidance, beyond the means of a JSON Schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder_kit_llm.actions.blocks import BLOCK

Schema = Mapping[str, Any]

MOST: Final = 8
"""Limit of the actions in a reply: a small model may continue endlessly."""
SEPARATOR: Final = r", |\n"


def grammar(calls: Sequence[Schema], head: Schema | None, ending: Schema, *, several: bool) -> str:
    """Return a grammar in the engine's language: calls, the *head* of a block, or the *ending*.

    *calls* has the schema of each tool's call. With *several* a reply may repeat the call of one
    tool: that of another one mostly has to wait for results.
    """
    names = [f"call_{number}" for number in range(len(calls))]
    more = f" (SEPARATOR {{}}){{{{0,{MOST - 1}}}}}" if several else ""
    choices = [name + more.format(name) for name in names]
    rules = [f"{name}: %json {json.dumps(call)}" for name, call in zip(names, calls, strict=True)]
    if head:
        choices.append("head BLOCK")
        rules += [f"head: %json {json.dumps(head)}", f"BLOCK: /{BLOCK}/"]
    return "\n".join(
        (
            "%llguidance {}",
            f"start: {' | '.join([*choices, 'ending'])}",
            *rules,
            f"ending: %json {json.dumps(ending)}",
            f"SEPARATOR: /{SEPARATOR}/",
        )
    )
