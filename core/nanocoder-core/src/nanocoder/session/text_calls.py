"""Tool calls that a model writes as text, where it should make them."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

NAMES = ("name", "tool", "tool_name", "function", "action")
ARGUMENTS = ("arguments", "parameters", "params", "input", "args", "action_input")
HINT = (
    "Nothing ran: you wrote a call of {name} as text. Call the tool itself, through the tool"
    " interface, without writing the call down."
)
FAILED = (
    "the model writes its tool calls as text instead of making them ({name}), so nothing runs."
    ' Take another model, or set profile = "small" in the table of its provider'
)
MAX_CHARS = 100_000


def written_call(text: str, offered: Collection[str]) -> str:
    """Return the name of an offered tool whose call is what *text* is, or ends in; else nothing.

    JSON in a sentence, or for another purpose, is no call.
    """
    if len(text) > MAX_CHARS:
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
    if not any(isinstance(entry.get(key), (dict, str)) for key in ARGUMENTS):
        return
    for key in NAMES:
        if isinstance(entry.get(key), str):
            yield entry[key]
