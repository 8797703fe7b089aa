"""Questions that a program can answer, too: forms, prompts for its model, and its folders.

Each is a `Question` whose choices are all that other hosts need. A host that knows the kind may
answer with the JSON of an object instead of a choice; `object_of` distinguishes the two.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field, frozen
from nanocoder import BadArguments, Question, parse_json

DECLINE: Final = "decline"
"""The choice of a person who does not want to fill in a form."""
REPLY: Final = "reply"
"""The key of a model's answer; an object without it means that there is no answer."""
FOLDERS: Final = "folders"
"""The key of the folders that a program works in: a list of objects with `uri` and `name`."""


@frozen
class Form(Question):
    """Several values at once; *fields* is the JSON Schema of the object that has them.

    *name* distinguishes it from other questions of the same call in a protocol with names.
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


@frozen
class Folders(Question):
    """A question for the folders that the other side works in.

    *name* is as in `Form`.
    """

    name: str = FOLDERS


@frozen
class Several(Question):
    """Questions that need not wait for each other; `ask_all` asks them.

    A host that knows the kind may answer with the JSON of an object, which has the answer, or
    null, under the name of each.
    """

    questions: tuple[Form | Prompt | Folders, ...] = ()


def ask_all(ask: Callable[[Question], str | None], several: Several) -> dict[str, str | None]:
    """Return the answers to *several* by name: from a host that takes them at once, or in turn."""
    answer = ask(several)
    together = object_of(answer)
    if together is not None:
        answers = {each.name: together.get(each.name) for each in several.questions}
        return {name: text if isinstance(text, str) else None for name, text in answers.items()}
    if answer is None or answer == DECLINE:
        return dict.fromkeys(each.name for each in several.questions)
    return {each.name: ask(each) for each in several.questions}


def object_of(answer: str | None) -> Mapping[str, Any] | None:
    """Return the object of an answer, or None for a choice and without an answer."""
    if answer is None or not answer.startswith("{"):
        return None
    try:
        value = parse_json(answer)
    except BadArguments:
        return None
    return value if isinstance(value, Mapping) else None
