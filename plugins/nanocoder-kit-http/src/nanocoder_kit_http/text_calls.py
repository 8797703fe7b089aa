"""Calls in a reply's text: JSON in tags or fences, XML, and SEARCH/REPLACE blocks."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from nanocoder import BadArguments, ToolDefinition, parse_json

_NAMES: Final = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS: Final = ("arguments", "parameters", "params", "input", "args", "action_input")
_TAG: Final = re.compile(r"<\|?(tool_calls?|function_call|tool_use|tools?|python_tag)\|?>")
_CLOSING: Final = re.compile(r"</(?:tool_calls?|function_call|tool_use|tools?)>|<\|[/\w]+\|>")
_MISTRAL: Final = "[TOOL_CALLS]"
_FENCE: Final = re.compile(r"```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_FUNCTION: Final = re.compile(
    r"<(?:function=|invoke name=[\"']?)([\w.-]+)[\"']?>(.*?)</(?:function|invoke)>", re.DOTALL
)
_PARAMETER: Final = re.compile(
    r"<parameter(?:=|\s+name=[\"']?)([\w.-]+)[\"']?>(.*?)</parameter>", re.DOTALL
)
_WRAPPERS: Final = re.compile(r"</?\|?(?:tool_calls?|function_calls?|tool_use|tools?)\|?>")
_BLOCK: Final = re.compile(
    r"^<{5,9} SEARCH\n(.*?)^={5,9}\n(.*?)^>{5,9} REPLACE[ \t]*$", re.DOTALL | re.MULTILINE
)
_PATH_KEYS: Final = ("path", "file_path", "file")
_EDIT_KEYS: Final = (
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old", "new"),
    ("search", "replace"),
)
_NAMED: Final = re.compile(
    r"[\"']?(?:name|tool|tool_name|function)[\"']?\s*:\s*[\"']([\w.-]+)[\"']"
)


class TextCall(NamedTuple):
    """A call that was read from text; *is_repaired* when its JSON was damaged."""

    name: str
    arguments: Mapping[str, Any]
    is_repaired: bool = False


class GarbledCallError(Exception):
    """The text is a call of the tool *name* that cannot be read without guessing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def calls_in(text: str, tools: Sequence[ToolDefinition]) -> list[TextCall]:
    """Return the calls that *text* ends in, all of offered *tools*; none for an answer.

    JSON within a sentence, or for another purpose, is no call. Raises: GarbledCallError.
    """
    offered = {tool.name: tool for tool in tools}
    for read in (_tagged, _xml, _edits, _bare):
        calls = read(text.strip(), offered)
        if calls:
            return calls
    return []


def _tagged(text: str, offered: Mapping[str, ToolDefinition]) -> list[TextCall]:
    start = text.find(_MISTRAL)
    if start >= 0:
        return _of_json(text[start + len(_MISTRAL) :].strip(), offered)
    calls: list[TextCall] = []
    bodies = _TAG.split(text)[2::2]
    for body in bodies:
        inside = _CLOSING.split(body, maxsplit=1)[0].strip()
        calls += _of_json(inside, offered) if inside else []
    rest = _CLOSING.split(bodies[-1], maxsplit=1)[1:] if bodies else []
    if rest and _WRAPPERS.sub("", rest[0]).strip():
        return []  # text goes on after the last call, which is a quotation then
    return calls


def _bare(text: str, offered: Mapping[str, ToolDefinition]) -> list[TextCall]:
    fenced = _FENCE.search(text)
    return _of_json(fenced[1].strip() if fenced else text, offered)


def _of_json(passage: str, offered: Mapping[str, ToolDefinition]) -> list[TextCall]:
    if passage[:1] not in {"{", "["}:
        return []
    try:
        value, is_repaired = parse_json(passage), False
    except BadArguments:
        named = _NAMED.search(passage)
        if named is None or named[1] not in offered:
            return []
        value, is_repaired = _repaired(passage, named[1]), True
    calls = [call._replace(is_repaired=is_repaired) for call in _entries(value)]
    if not all(call.name in offered for call in calls):
        return []
    for call in calls:
        if is_repaired and not _fits(call.arguments, offered[call.name].parameters):
            raise GarbledCallError(call.name)
    return calls


def _repaired(passage: str, name: str) -> Any:
    """Return damaged JSON as it can only be meant; raises GarbledCallError.

    It has its end, and the repair adds and drops nothing but punctuation.
    """
    from json_repair import repair_json  # few replies need it

    value: Any = repair_json(passage, return_objects=True, skip_json_loads=True)
    rendered = json.dumps(value, ensure_ascii=False)
    if not passage.endswith(("}", "]")) or _letters(passage) != _letters(rendered):
        raise GarbledCallError(name)
    return value


def _letters(text: str) -> str:
    plain = re.sub(r"\\[nrtbf\"'/\\]", " ", text)
    return re.sub(r"\W|_", "", plain).lower().replace("none", "null")


def _fits(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return arguments.keys() <= properties.keys() and all(name in arguments for name in required)


def _entries(value: Any) -> Iterator[TextCall]:
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, Mapping):
            continue
        inner = entry.get("tool_calls") or entry.get("function")
        if isinstance(inner, (list, Mapping)):
            yield from _entries(inner)
            continue
        name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
        arguments = next((entry[key] for key in _ARGUMENTS if key in entry), None)
        if isinstance(arguments, str):
            arguments = _object(arguments)
        if name and isinstance(arguments, Mapping):
            yield TextCall(name, arguments)


def _object(text: str) -> Any:
    try:
        return parse_json(text)
    except BadArguments:
        return None


def _xml(text: str, offered: Mapping[str, ToolDefinition]) -> list[TextCall]:
    names = "|".join(map(re.escape, offered))
    own = re.compile(rf"<({names})>(.*?)</\1>", re.DOTALL)
    for shape in (_FUNCTION, own):
        rest = _WRAPPERS.sub("", shape.sub("\0", text)).rstrip()
        matches = list(shape.finditer(text))
        if not matches or not rest.endswith("\0") or any(m[1] not in offered for m in matches):
            continue
        return [TextCall(m[1], _parameters(m[2], offered[m[1]].parameters)) for m in matches]
    return []


def _parameters(body: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    pairs = _PARAMETER.findall(body)
    if not pairs:
        keys = "|".join(map(re.escape, properties)) or r"\w+"
        pairs = re.findall(rf"<({keys})>(.*?)</\1>", body, re.DOTALL)
    return {key: _value(value, properties.get(key, {})) for key, value in pairs}


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    text = text.removeprefix("\n").removesuffix("\n")
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _edits(text: str, offered: Mapping[str, ToolDefinition]) -> list[TextCall]:
    editor = next(filter(None, map(_edit_keys, offered.values())), None)
    if editor is None:
        return []
    name, path_key, old_key, new_key = editor
    calls, path, before = [], "", 0
    for block in _BLOCK.finditer(text):
        path = _path_before(text[before : block.start()]) or path
        if not path:
            raise GarbledCallError(name)
        before, (old, new) = block.end(), block.groups()
        if new:
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
        calls.append(TextCall(name, {path_key: path, old_key: old, new_key: new}))
    return calls


def _edit_keys(tool: ToolDefinition) -> tuple[str, str, str, str] | None:
    """Return the name of a tool that replaces text in a file, and its three keys."""
    keys = tool.parameters.get("properties", {})
    path = next((key for key in _PATH_KEYS if key in keys), "")
    pair = next((pair for pair in _EDIT_KEYS if keys.keys() >= {*pair}), None)
    return (tool.name, path, *pair) if path and pair else None


def _path_before(text: str) -> str:
    """Return the path in the last line of *text* that is no fence, "" where it is none."""
    lines = [line.strip() for line in text.splitlines()]
    last = next((line for line in reversed(lines) if line and not line.startswith("```")), "")
    path = last.strip("`*#: ")
    return path if re.fullmatch(r"[\w@%+=./-]{1,300}", path) else ""
