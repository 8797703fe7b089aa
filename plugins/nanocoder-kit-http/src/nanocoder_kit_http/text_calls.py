"""Calls in a reply's text: JSON in tags or fences, XML, and SEARCH/REPLACE blocks."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from nanocoder import BadArguments, ToolDefinition, parse_json

_NAMES: Final = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS: Final = ("arguments", "parameters", "params", "input", "args", "action_input")
_TAG: Final = re.compile(r"<\|?(?:tool_calls?|function_call|tool_use|tools?|python_tag)\|?>")
_CLOSING: Final = re.compile(r"</(?:tool_calls?|function_calls?|tool_use|tools?)>|<\|[/\w]+\|>")
_TAG_OR_CLOSING: Final = re.compile(f"{_TAG.pattern}|{_CLOSING.pattern}")
_SPACES: Final = re.compile(r"\s*")
_WRAPPERS: Final = re.compile(r"(?:\s|</?\|?(?:tool_calls?|function_calls?|tool_use|tools?)\|?>)*")
_MISTRAL: Final = "[TOOL_CALLS]"
_FUNCTION: Final = r"<function=(?P<function>[\w.-]+)>|<invoke name=[\"']?(?P<invoke>[\w.-]+)[\"']?>"
_MARKS: Final = r"<\|?(?:tool_calls?|function_calls?|tool_use|tools?|python_tag)\|?>|\[TOOL_CALLS\]"
_PARAMETER: Final = re.compile(r"<(parameter)(?:=|\s+name=[\"']?)([\w.-]+)[\"']?>")
_FENCE: Final = re.compile(r"```[\w-]*[ \t]*")
_SEARCH: Final = re.compile(r"<{5,9} SEARCH")
_MIDDLE: Final = re.compile(r"={5,9}")
_REPLACE: Final = re.compile(r">{5,9} REPLACE[ \t]*")
_REPAIR_CHARS: Final = 20_000  # json_repair takes more than linear time
_REPAIR_DEPTH: Final = 64
_PATH_KEYS: Final = ("path", "file_path", "file")
_EDIT_KEYS: Final = (
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old", "new"),
    ("search", "replace"),
)
_LINE_NUMBERS_AND_SPACES: Final = re.compile(r"(?m)^ *\d+\t|[\s\\]+")
_NAMED: Final = re.compile(
    r"[\"']?(?:name|tool|tool_name|function)[\"']?\s*:\s*[\"']([\w.-]+)[\"']"
)


class TextCall(NamedTuple):
    """A call that was read from text; *is_repaired* when its JSON was damaged."""

    name: str
    arguments: Mapping[str, Any]
    is_repaired: bool = False


class _Block(NamedTuple):
    """A SEARCH/REPLACE block: the lines of text before it, and those of its two halves."""

    before: list[str]
    old: list[str]
    new: list[str]


class GarbledCallError(Exception):
    """The text is a call of the tool *name* that cannot be read without guessing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def calls_in(
    text: str, tools: Sequence[ToolDefinition], *, after_prose: bool = True
) -> list[TextCall]:
    """Return the calls that *text* consists of, all of offered *tools*; none for an answer.

    Prose may come before them where *after_prose* allows it: then they begin on a line of their
    own and are closed. Text after or between them makes them a quotation. The time is linear in
    the length. Raises: GarbledCallError.
    """
    offered = {tool.name: tool for tool in tools}
    for read in (_marked, _edits, _bare):
        prose, calls = read(text.strip(), offered, after_prose=after_prose)
        if calls and (after_prose or not prose):
            return calls
    return []


def is_quoted(call: TextCall, sources: Iterable[str]) -> bool:
    """Tell whether *call* stands in one of the texts that the model has read.

    Line numbers, spaces and backslashes do not count: files are shown with numbers, or as JSON.
    """
    arguments = _compact(json.dumps(call.arguments, ensure_ascii=False))
    values = [_compact(value) for value in call.arguments.values() if isinstance(value, str)]
    marks = (f"={call.name}>", f'"{call.name}">', f"<{call.name}>", "<<SEARCH")
    for source in map(_compact, sources):
        is_json = f'"{call.name}"' in source and arguments in source
        is_marked = bool(values) and any(mark in source for mark in marks)
        if is_json or (is_marked and all(value in source for value in values)):
            return True
    return False


def _compact(text: str) -> str:
    return _LINE_NUMBERS_AND_SPACES.sub("", text)


def _marked(
    text: str, offered: Mapping[str, ToolDefinition], *, after_prose: bool
) -> tuple[str, list[TextCall]]:
    """Read calls in tags or XML; the first mention of a tag is where they begin."""
    openings = _openings(offered)
    mark = re.search(rf"{_MARKS}|{openings}", text)
    if mark is None:
        return "", []
    prose, passage = text[: mark.start()], text[mark.start() :]
    if prose.strip() and (not after_prose or prose.rpartition("\n")[2].strip()):
        return prose, []
    if passage.startswith(_MISTRAL):
        return prose, _of_json(passage.removeprefix(_MISTRAL).strip(), offered)
    calls = _tagged(passage, offered, may_be_open=not prose)
    return prose, calls or _xml(passage, offered, openings)


def _openings(offered: Mapping[str, ToolDefinition]) -> str:
    names = "|".join(map(re.escape, offered))
    return rf"{_FUNCTION}|<(?P<own>{names})>" if names else _FUNCTION


def _tagged(
    text: str, offered: Mapping[str, ToolDefinition], *, may_be_open: bool
) -> list[TextCall]:
    calls: list[TextCall] = []
    at = 0
    while at < len(text):
        opening = _TAG.match(text, at)
        if opening is None:
            return []  # text between two calls, or after the last one, which is a quotation then
        end = _TAG_OR_CLOSING.search(text, opening.end())
        body = text[opening.end() : end.start() if end else len(text)].strip()
        if body:
            read = _of_json(body, offered)
            if not read or (end is None and opening[0][1] != "|" and not may_be_open):
                return []
            calls += read
        at = _after_closings(text, end.start()) if end else len(text)
    return calls


def _after_closings(text: str, at: int) -> int:
    """Return where the next thing begins that is neither a space nor a closing tag."""
    at = _end(_SPACES, text, at)
    while not _TAG.match(text, at) and (closing := _CLOSING.match(text, at)):
        at = _end(_SPACES, text, closing.end())
    return at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _bare(
    text: str, offered: Mapping[str, ToolDefinition], *, after_prose: bool
) -> tuple[str, list[TextCall]]:
    """Read a call that is bare JSON, or the fenced block at the end."""
    if not text.endswith("```"):
        return "", _of_json(text, offered)
    inner = text.removesuffix("```")
    start = inner.rfind("\n```") + 1
    prose, (opening, _, body) = inner[:start], inner[start:].partition("\n")
    is_quoted = f"\n{prose}".count("\n```") % 2 == 1 or re.search(_MARKS, prose)
    if not _FENCE.fullmatch(opening) or is_quoted or (prose and not after_prose):
        return prose, []
    return prose, _of_json(body.strip(), offered)


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
    try:
        calls = [call._replace(is_repaired=is_repaired) for call in _entries(value)]
    except RecursionError:  # repaired JSON may be nested deeper than what is parsed
        return []
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

    if len(passage) > _REPAIR_CHARS or not passage.endswith(("}", "]")) or _is_deep(passage):
        raise GarbledCallError(name)
    try:
        value: Any = repair_json(passage, return_objects=True, skip_json_loads=True)
        rendered = json.dumps(value, ensure_ascii=False)
    except Exception as error:  # a parser that breaks has not read the call
        raise GarbledCallError(name) from error
    if _letters(passage) != _letters(rendered):
        raise GarbledCallError(name)
    return value


def _is_deep(passage: str) -> bool:
    """Tell whether brackets nest so deep that a repair takes quadratic time."""
    steps = (1 if bracket in "[{(" else -1 for bracket in re.findall(r"[\[{()}\]]", passage))
    return max(accumulate(steps), default=0) > _REPAIR_DEPTH


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


def _xml(text: str, offered: Mapping[str, ToolDefinition], openings: str) -> list[TextCall]:
    opening_of = re.compile(openings)
    calls: list[TextCall] = []
    at = _end(_WRAPPERS, text, 0)
    while at < len(text):
        opening = opening_of.match(text, at)
        if opening is None or opening.lastgroup is None:
            return []
        name = opening[opening.lastgroup]
        closing = f"</{name if opening.lastgroup == 'own' else opening.lastgroup}>"
        end = text.find(closing, opening.end())
        if end < 0 or name not in offered:
            return []
        arguments = _parameters(text[opening.end() : end], offered[name].parameters)
        if arguments is None:
            return []
        calls.append(TextCall(name, arguments))
        at = _end(_WRAPPERS, text, end + len(closing))
    return calls


def _parameters(body: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments in the XML of a call, None where a parameter is not closed."""
    properties = schema.get("properties", {})
    opening_of = _PARAMETER
    if not opening_of.search(body):
        keys = "|".join(map(re.escape, properties)) or r"\w+"
        opening_of = re.compile(rf"<(({keys}))>")
    arguments: dict[str, Any] = {}
    at = 0
    while opening := opening_of.search(body, at):
        closing = f"</{opening[1]}>"
        end = body.find(closing, opening.end())
        if end < 0:
            return None
        value = body[opening.end() : end]
        arguments[opening[2]] = _value(value, properties.get(opening[2], {}))
        at = end + len(closing)
    return arguments


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    text = text.removeprefix("\n").removesuffix("\n")
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _edits(
    text: str, offered: Mapping[str, ToolDefinition], *, after_prose: bool
) -> tuple[str, list[TextCall]]:
    """Read SEARCH/REPLACE blocks, each below its path or below another block of the same file."""
    editor = next(filter(None, map(_edit_keys, offered.values())), None)
    blocks = _blocks(text) if editor else []
    if editor is None or not blocks:
        return "", []
    name, path_key, old_key, new_key = editor
    path = _path((blocks[0].before or [""])[-1])
    prose = "\n".join(blocks[0].before[:-1] if path else blocks[0].before)
    if prose and not after_prose:
        return prose, []
    calls: list[TextCall] = []
    for block in blocks:
        if not path:
            raise GarbledCallError(name)
        if calls and block.before:
            path = _path(block.before[-1])
            if not path or len(block.before) > 1:
                return "", []  # prose between two blocks
        old, new = "".join(block.old), "".join(block.new)
        if new:
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
        calls.append(TextCall(name, {path_key: path, old_key: old, new_key: new}))
    return prose, calls


def _blocks(text: str) -> list[_Block]:
    """Return the blocks of *text*; none where one has no end, or text follows the last one."""
    blocks: list[_Block] = []
    block = _Block([], [], [])
    lines = block.before
    for line in text.split("\n"):
        if lines is block.before:
            if _SEARCH.fullmatch(line):
                lines = block.old
            elif line.strip() and not line.strip().startswith("```"):
                lines.append(line.strip())
        elif lines is block.old and _MIDDLE.fullmatch(line):
            lines = block.new
        elif lines is block.new and _REPLACE.fullmatch(line):
            blocks.append(block)
            block = _Block([], [], [])
            lines = block.before
        else:
            lines.append(f"{line}\n")
    return [] if block.before or lines is not block.before else blocks


def _edit_keys(tool: ToolDefinition) -> tuple[str, str, str, str] | None:
    """Return the name of a tool that replaces text in a file, and its three keys."""
    keys = tool.parameters.get("properties", {})
    path = next((key for key in _PATH_KEYS if key in keys), "")
    pair = next((pair for pair in _EDIT_KEYS if keys.keys() >= {*pair}), None)
    return (tool.name, path, *pair) if path and pair else None


def _path(line: str) -> str:
    """Return the path that *line* consists of, "" where it is none."""
    path = line.strip("`*#: ")
    return path if re.fullmatch(r"[\w@%+=./-]{1,300}", path) else ""
