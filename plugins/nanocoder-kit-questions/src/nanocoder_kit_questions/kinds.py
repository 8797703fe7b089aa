"""Questions that a program can answer, too: a form as a whole, and a prompt for its model.

Each is a `Question` whose choices are all that other hosts need. A host that knows the kind may
answer with the JSON of an object in place of a choice; `object_of` tells the two apart.
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen
from nanocoder import BadArguments, Question, parse_json

DECLINE: Final = "decline"
"""The choice of a person who does not want to fill in a form."""
REPLY: Final = "reply"
"""The key of what a model answered; an object without it says that there is no answer."""


@frozen
class Form(Question):
    """Several values at once; *fields* is the JSON Schema of the object that has them.

    *name* tells it from other questions of the same call, where a protocol names each.
    """

    name: str = "form"
    fields: Mapping[str, Any] = field(factory=dict)


@frozen
class Prompt(Question):
    """A question for a model: *prompt*, to be answered in at most *max_tokens*.

    *name* is as in `Form`.
    """

    name: str = "prompt"
    prompt: str = ""
    max_tokens: int = 1_000


def object_of(answer: str | None) -> Mapping[str, Any] | None:
    """Return the object of an answer; None for a choice, and where nobody has answered."""
    if answer is None or not answer.startswith("{"):
        return None
    try:
        value = parse_json(answer)
    except BadArguments:
        return None
    return value if isinstance(value, Mapping) else None
