"""The formats in which models write tool calls as text: one row for each, and one parser."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from nanocoder_kit_llm.http.call_values import (
    Offered,
    TextCall,
    calls_of_json,
    calls_of_python,
    json_end,
    json_object,
    marked_object,
    offered_name,
    value_of,
)

_PREFIX: Final = r"(?:\w+:|\uff5cDSML\uff5c)?"
_TAGS: Final = r"(?:longcat_)?(?:tool_calls?|function_calls?|tool_use|tools?|TOOLCALL)"
_NAME: Final = r"(?P<name>[\w.-]{1,64}(?::\d+)?)"
_NAMESPACED: Final = r"(?P<name>(?:functions?[.:])?[\w.-]{1,64}(?::\d+)?)"
OPENINGS: Final = (
    rf"<{_PREFIX}{_TAGS}>|<\|(?:tool_calls?|function_call|tools?|python_tag|python_start"
    r"|tool_calls?_section_begin|tool_call_begin|tool_call_start|action_start|START_ACTION)\|>"
    r"|<\uff5ctool▁calls?▁begin\uff5c>|<\|tool_call>|<start_function_call>|\[TOOL_CALLS\]"
    r"|(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\w+\s+)?to=functions[.:]\w"
    rf"|<{_PREFIX}invoke name=|<function=\w"
)
"""Pattern of the marks that begin calls on a line of their own."""
_PASSED_OVER: Final = re.compile(
    rf"(?:[\s,;]|</?{_PREFIX}{_TAGS}>|</function>|<\|/?(?!channel\||start\|)\w+\|>|<\uff5c[\w▁/]+\uff5c>|<tool_call\|>|<\|/?tool_call>"
    r"|<(?:start|end)_function_call>|\[/?TOOL_CALLS\])*"
)
"""Pattern of the text to skip around and between calls."""
_SEPARATORS: Final = re.compile(r"[\s,;]*")
_NEXT_MARK: Final = re.compile(
    rf"</?{_PREFIX}{_TAGS}>|<\|/?\w+\|>|<\uff5c[\w▁]+\uff5c>|\[/?TOOL_CALLS\]|\Z"
)
_OBJECT_END: Final = re.compile(r"<tool_call\|>|<end_function_call>")
_FENCE_END: Final = re.compile(r"\s*```")
_PAIR: Final = re.compile(r"\s*<arg_key>")
_ARGUMENTS: Final = ("</arg_key>", "<arg_value>", "</arg_value>")


class Read(NamedTuple):
    """The calls at one offset of a text, and the offset of their end."""

    calls: list[TextCall]
    end: int


Reader = Callable[[str, "re.Match[str]", Offered], "Read | None"]


class Form(NamedTuple):
    """A format of calls: the pattern that *begins* one, and the parser of the rest."""

    begins: re.Pattern[str]
    read: Reader


def read_calls(text: str, at: int, offered: Offered, forms: tuple[Form, ...]) -> list[TextCall]:
    """Return the calls of which *text* consists from *at* to its end; none for any other text.

    Raises: GarbledCallError.
    """
    calls: list[TextCall] = []
    passed_over = _SEPARATORS if forms is BARE else _PASSED_OVER
    while (at := _end(passed_over, text, at)) < len(text):
        matches = ((form, form.begins.match(text, at)) for form in forms)
        reads = (form.read(text, match, offered) for form, match in matches if match)
        read = next((each for each in reads if each is not None), None)
        if read is None or read.end <= at:
            return []
        calls += read.calls
        at = read.end
    return calls


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _json(text: str, match: re.Match[str], offered: Offered) -> Read | None:
    """Parse JSON that includes the name; damaged JSON ends at the next mark."""
    at = match.start()
    end = json_end(text, at)
    stop = _next_mark(text, max(at, end))
    rest = text[end:stop].strip(" \t\r\n,;") if end >= 0 else "damaged"
    if rest and not rest.startswith(("{", "[")):
        if end >= 0 and stop == len(text):
            return None  # text after it makes it a quotation
        end = _next_mark(text, at)
    calls = calls_of_json(text[at:end].strip(), offered)
    return Read(calls, end) if calls else None


def _next_mark(text: str, at: int) -> int:
    mark = _NEXT_MARK.search(text, at)
    return mark.start() if mark else len(text)


def _named_json(text: str, match: re.Match[str], offered: Offered) -> Read | None:
    """Read the arguments behind a name."""
    end = json_end(text, match.end())
    arguments = json_object(text[match.end() : end]) if end >= 0 else None
    name = offered_name(match["name"], offered)
    if not name or not isinstance(arguments, Mapping):
        return None
    if "```" in match[0]:
        end = _end(_FENCE_END, text, end)
    return Read([TextCall(name, arguments)], end)


def _pairs(text: str, match: re.Match[str], offered: Offered) -> Read | None:
    """Read keys and values in tags behind a name."""
    name, at = offered_name(match["name"], offered), match.end()
    properties = offered[name].parameters.get("properties", {}) if name else {}
    arguments: dict[str, Any] = {}
    while pair := _PAIR.match(text, at):
        key_end = text.find(_ARGUMENTS[0], pair.end())
        start = text.find(_ARGUMENTS[1], key_end)
        end = text.find(_ARGUMENTS[2], start)
        if min(key_end, start, end) < 0:
            return None
        key = text[pair.end() : key_end].strip()
        value = text[start + len(_ARGUMENTS[1]) : end]
        arguments[key] = value_of(value, properties.get(key, {}))
        at = end + len(_ARGUMENTS[2])
    return Read([TextCall(name, arguments)], at) if name else None


def _marked(text: str, match: re.Match[str], offered: Offered) -> Read | None:
    """Parse an object whose strings are delimited by marks."""
    close = _OBJECT_END.search(text, match.end())
    end = close.start() if close else len(text)
    body = text[match.end() : end].strip()
    mark = "<escape>" if "<escape>" in body else '<|"|>'
    arguments, name = marked_object(body, mark), offered_name(match["name"], offered)
    if not name or not isinstance(arguments, Mapping):
        return None
    return Read([TextCall(name, arguments)], end)


def _python(text: str, match: re.Match[str], offered: Offered) -> Read | None:
    """Read a list of calls as Python writes them."""
    end = _next_mark(text, match.start())
    calls = calls_of_python(text[match.start() : end], offered)
    return Read(calls, end) if calls else None


def _xml(text: str, match: re.Match[str], offered: Offered) -> Read | None:
    """Read a call whose parameters are tags of their own."""
    name = offered_name(match["name"], offered)
    closing = f"</{match['prefix']}{match['tag'] or match['name']}>"
    end = text.find(closing, match.end())
    if end < 0 or not name:
        return None
    arguments = _parameters(text[match.end() : end], offered[name].parameters)
    return None if arguments is None else Read([TextCall(name, arguments)], end + len(closing))


_PARAMETER: Final = re.compile(
    rf"<(?P<tag>{_PREFIX}parameter)(?:=|\s+name=[\"']?)(?P<key>[\w.-]+)[\"']?"
    r"(?:\s+string=\"(?P<is_text>\w+)\")?>"
)


def _parameters(body: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments in the XML of a call, or None if a parameter is not closed."""
    properties = schema.get("properties", {})
    opening_of = _PARAMETER
    if not opening_of.search(body):
        keys = "|".join(map(re.escape, properties)) or r"\w+"
        opening_of = re.compile(rf"<(?P<tag>(?P<key>{keys}))(?P<is_text>)>")
    arguments: dict[str, Any] = {}
    at = 0
    while opening := opening_of.search(body, at):
        closing = f"</{opening['tag']}>"
        end = body.find(closing, opening.end())
        if end < 0:
            return None
        is_text = opening["is_text"] == "true"
        value_schema = {"type": "string"} if is_text else properties.get(opening["key"], {})
        value = body[opening.end() : end]
        arguments[opening["key"]] = value if is_text else value_of(value, value_schema)
        at = end + len(closing)
    return arguments


def _form(begins: str, read: Reader) -> Form:
    return Form(re.compile(begins), read)


_JSON_FORM: Final = _form(r"(?=\{|\[\s*[\[{])", _json)
_PYTHON_FORM: Final = _form(r"(?=\[\s*[\w.]+\()", _python)
BARE: Final = (_JSON_FORM, _PYTHON_FORM)
"""Formats without a mark, for a reply that consists of calls only."""
MARKED: Final = (
    _JSON_FORM,
    _PYTHON_FORM,
    # DeepSeek, Kimi, Mistral, harmony and Llama: arguments as JSON behind the name.
    _form(rf"function<\uff5ctool▁sep\uff5c>{_NAME}\s*(?:```json)?\s*(?=\{{)", _named_json),
    _form(
        rf"{_NAMESPACED}\s*(?:<\uff5ctool▁sep\uff5c>|<\|tool_call_argument_begin\|>)\s*(?=\{{)",
        _named_json,
    ),
    _form(rf"{_NAME}\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(?=\{{)", _named_json),
    _form(
        rf"(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\w+\s+)?to={_NAMESPACED}\s*(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?"
        r"\s*(?:json|code)?\s*<\|message\|>\s*(?=\{)",
        _named_json,
    ),
    _form(rf"<function={_NAME}>\s*(?=\{{)", _named_json),
    # GLM.
    _form(rf"{_NAME}\s*(?=<arg_key>|</tool_call>)", _pairs),
    # Gemma.
    _form(rf"call:{_NAME}\s*(?=\{{)", _marked),
    # Qwen's coder, Anthropic, MiniMax, DeepSeek's DSML.
    _form(rf"(?P<prefix>)<(?P<tag>function)={_NAME}>", _xml),
    _form(rf"<(?P<prefix>{_PREFIX})(?P<tag>invoke) name=[\"']?{_NAME}[\"']?>", _xml),
)
"""Formats of calls that follow a mark which no prose contains."""


def own_tags(offered: Offered) -> Form:
    """Return the form of calls whose tag is the name of the tool."""
    names = "|".join(map(re.escape, offered)) or r"(?!)"
    return _form(rf"(?P<prefix>)(?P<tag>)<(?P<name>{names})>", _xml)
