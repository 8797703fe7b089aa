"""Tool calls that a model writes as text, where it should make them."""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve
from nanocoder import Finished, Message, ProviderError, Request, ToolCall

_NAMES: Final = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS: Final = ("arguments", "parameters", "params", "input", "args", "action_input")
_TOLD: Final = "Nothing ran: you wrote a call of "
_HINT: Final = (
    " as text. Call the tool itself, through the tool interface, without writing the call down."
)
_MAX_CHARS: Final = 100_000
_ID_BYTES: Final = 12


def refuse_written_call(finished: Finished, request: Request) -> Finished:
    """Return a reply that is a call written as text as a call that fails; any other as it is.

    So the model reads once in a run how to call tools. Raises: ProviderError the second time.
    """
    if finished.calls or finished.refusal:
        return finished
    name = written_call(finished.text, [tool.name for tool in request.tools])
    if not name:
        return finished
    if _was_told(request.messages):
        raise ProviderError(
            f"the model writes its tool calls as text instead of making them ({name}), so nothing"
            ' runs. Take another model, or set profile = "small" in the table of its provider',
            kind="protocol",
            retry=False,
        )
    call = ToolCall(f"call_{os.urandom(_ID_BYTES).hex()}", name, error=f"{_TOLD}{name}{_HINT}")
    return evolve(finished, calls=(call,), native=None)


def _was_told(messages: Sequence[Message]) -> bool:
    """Tell whether the model has read the hint since the latest request of a person."""
    for message in reversed(messages):
        if message.role == "user":
            return False
        if any(call.error.startswith(_TOLD) for call in message.calls):
            return True
    return False


def written_call(text: str, offered: Collection[str]) -> str:
    """Return the name of an offered tool whose call is what *text* is, or ends in; else nothing.

    JSON in a sentence, or for another purpose, is no call.
    """
    if len(text) > _MAX_CHARS:
        return ""
    for passage in _passages(text.strip()):
        for name in _names(passage):
            if name in offered:
                return name
    return ""


def _passages(text: str) -> Iterator[str]:
    tagged = re.search(r"<\|?(tool_call|function_call|tool_use|tools?)\|?>", text)
    if tagged:
        body = text[tagged.end() :]
        yield body.partition("</")[0].partition("<|")[0].strip()
    named = re.search(r"<(?:function|invoke)[= ](?:name=)?[\"']?([\w.-]+)[\"']?>", text)
    if named:
        yield json.dumps({"name": named[1], "arguments": {}})
    fenced = re.fullmatch(r"```[\w-]*\n(.*?)\n?```", text, flags=re.DOTALL)
    yield fenced[1].strip() if fenced else text


def _names(passage: str) -> Iterator[str]:
    if passage[:1] not in {"{", "["}:
        return
    try:
        value = json.loads(passage)
    except (ValueError, RecursionError):
        return
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            yield from _name_of(entry)


def _name_of(entry: Mapping[str, Any]) -> Iterator[str]:
    calls = entry.get("tool_calls")
    if isinstance(calls, list):
        for call in calls:
            if isinstance(call, dict):
                yield from _name_of(call)
    function = entry.get("function")
    if isinstance(function, dict):
        yield from _name_of(function)
    if not any(isinstance(entry.get(key), (dict, str)) for key in _ARGUMENTS):
        return
    for key in _NAMES:
        if isinstance(entry.get(key), str):
            yield entry[key]
