"""Reminder of a file that a request names and that is still missing after a write.

It depends only on the conversation: a file exists if the system turn or an earlier message names
it, and is written if a successful call names it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from nanocoder import Message, Request

WRITERS: Final = frozenset({"write_file", "edit_file"})
REMINDER: Final = "\n(The file {} is not there yet.)"
_KINDS: Final = (
    "c|cfg|cpp|css|csv|go|h|html|ini|java|js|json|md|py|rb|rs|sh|sql|toml|ts|txt|xml|ya?ml"
)
_NAME: Final = re.compile(rf"(?<![\w./-])(?:[\w-]+/)*[\w-]+\.(?:{_KINDS})\b(?!\()")
_MORE_FILES: Final = re.compile(r" and \d+ more\.")


def reminder(request: Request, start: int) -> str:
    """Return the reminder to add to a last turn that is the result of a write, or "".

    *start* is the index of the user's latest message. Each file is named once; none is named if
    the system turn does not list all files.
    """
    messages = request.messages
    if start < 0 or messages[-1].role != "tool" or _MORE_FILES.search(request.system):
        return ""
    named = _names(messages, start, request.system)
    arguments, reminded, latest = "", set[str](), ""
    for calls, is_write in _steps(messages[start:]):
        arguments += calls
        missing = [name for name in named if name not in arguments and name not in reminded]
        latest = missing[0] if missing and is_write else ""
        reminded.add(latest)
    return REMINDER.format(latest) if latest else ""


def _names(messages: Sequence[Message], start: int, system: str) -> list[str]:
    """Return the files that the request names and nothing before it does, each once."""
    request = messages[start]
    typed = request.text if request.typed is None else request.typed
    before = [system, request.text.removesuffix(typed)]
    before += [message.text + _arguments_of(message) for message in messages[:start]]
    earlier = "\n".join(before)
    return [name for name in dict.fromkeys(_NAME.findall(typed)) if name not in earlier]


def _steps(messages: Sequence[Message]) -> Iterator[tuple[str, bool]]:
    """Yield the calls of each step that succeeded, as text, and whether it wrote a file."""
    for message, result in pairwise(messages):
        if result.role == "tool":
            is_sound = not any(each.is_error for each in result.results)
            is_write = any(call.name in WRITERS for call in message.calls)
            yield _arguments_of(message) if is_sound else "", is_write and is_sound


def _arguments_of(message: Message) -> str:
    return json.dumps([dict(call.arguments) for call in message.calls], ensure_ascii=False)
