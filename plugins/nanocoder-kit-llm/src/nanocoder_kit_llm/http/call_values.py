"""A call in text, and its arguments as JSON, damaged JSON, Python or plain values."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple

from nanocoder import BadArguments, ToolDefinition, parse_json

_NAMES: Final = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS: Final = ("arguments", "parameters", "params", "input", "args", "action_input")
_NAMED: Final = re.compile(
    r"[\"']?(?:name|tool|tool_name|function)[\"']?\s*:\s*[\"']([\w.-]+)[\"']"
)
_REPAIR_CHARS: Final = 20_000  # json_repair takes more than linear time
_REPAIR_DEPTH: Final = 64
_PYTHON_CHARS: Final = 20_000
_NAMESPACE: Final = re.compile(r"functions?[.:]")
_INDEX: Final = re.compile(r":\d+\Z")
_OPEN_KEY: Final = re.compile(r"([{,]\s*)([\w-]+)\s*:")

Offered = Mapping[str, ToolDefinition]


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


def offered_name(name: str, offered: Offered) -> str:
    """Return the *name* of an offered tool, without the namespace and the index of some models.

    "" for any other.
    """
    plain = _INDEX.sub("", _NAMESPACE.sub("", name, count=1))
    return next((each for each in (name, plain) if each in offered), "")


def json_end(text: str, at: int) -> int:
    """Return the end offset of the JSON value at *at*, or -1 if none is complete."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return -1


def json_object(text: str) -> Any:
    """Return the value of JSON that a model wrote as arguments, or None if it is damaged."""
    try:
        return parse_json(text)
    except BadArguments:
        return None


def calls_of_json(passage: str, offered: Offered) -> list[TextCall]:
    """Return the calls in possibly damaged JSON, or none unless all are of offered tools.

    Raises: GarbledCallError.
    """
    if passage[:1] not in {"{", "["}:
        return []
    try:
        value, is_repaired = parse_json(passage), False
    except BadArguments:
        named = _NAMED.search(passage)
        if named is None or not offered_name(named[1], offered):
            return []
        value, is_repaired = _repaired(passage, named[1]), True
    try:
        calls = [call._replace(is_repaired=is_repaired) for call in _entries(value, offered)]
    except RecursionError:  # repaired JSON may be nested too deeply for the parser
        return []
    if not all(call.name for call in calls):
        return []
    for call in calls:
        if is_repaired and not fits(call.arguments, offered[call.name].parameters):
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
    """Return True if brackets nest so deep that a repair takes quadratic time."""
    steps = (1 if bracket in "[{(" else -1 for bracket in re.findall(r"[\[{()}\]]", passage))
    return max(accumulate(steps), default=0) > _REPAIR_DEPTH


def _letters(text: str) -> str:
    plain = re.sub(r"\\[nrtbf\"'/\\]", " ", text)
    return re.sub(r"\W|_", "", plain).lower().replace("none", "null")


def fits(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return True if *arguments* have all that *schema* requires, and nothing that it lacks."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return arguments.keys() <= properties.keys() and all(name in arguments for name in required)


def _entries(value: Any, offered: Offered) -> Iterator[TextCall]:
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, Mapping):
            continue
        inner = entry.get("tool_calls") or entry.get("function")
        if isinstance(inner, (list, Mapping)):
            yield from _entries(inner, offered)
            continue
        name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
        arguments = next((entry[key] for key in _ARGUMENTS if key in entry), None)
        if isinstance(arguments, str):
            arguments = json_object(arguments)
        if name and isinstance(arguments, Mapping):
            yield TextCall(offered_name(name, offered), arguments)


def calls_of_python(passage: str, offered: Offered) -> list[TextCall]:
    """Return the calls that *passage* consists of, as Python writes them; none for other code."""
    if len(passage) > _PYTHON_CHARS:
        return []
    try:
        body = ast.parse(passage.strip()).body
        nodes = [node for statement in body for node in _call_nodes(statement)]
        calls = [_python_call(node, offered) for node in nodes]
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        return []
    return calls if all(call.name for call in calls) else []


def _call_nodes(statement: ast.stmt) -> list[ast.expr]:
    """Return the calls of a statement: one, those of a list, or the arguments of print()."""
    if not isinstance(statement, ast.Expr):
        raise TypeError("not a call")
    value = statement.value
    nodes = value.elts if isinstance(value, ast.List) else [value]
    is_print = isinstance(value, ast.Call) and ast.unparse(value.func) == "print"
    return list(value.args) if is_print and isinstance(value, ast.Call) else list(nodes)


def _python_call(node: ast.expr, offered: Offered) -> TextCall:
    if not isinstance(node, ast.Call) or node.args:
        raise TypeError("not a call")
    name = ast.unparse(node.func).removeprefix("default_api.")
    arguments = {keyword.arg: _literal(keyword.value) for keyword in node.keywords}
    return TextCall(offered_name(name, offered), {key: arguments[key] for key in arguments if key})


def _literal(node: ast.expr) -> Any:
    """Return a value; some models write true, false and null. Raises ValueError."""
    if isinstance(node, ast.Name) and node.id in {"true", "false", "null"}:
        return json.loads(node.id)
    return ast.literal_eval(node)


def value_of(text: str, schema: Mapping[str, Any]) -> Any:
    """Return a parameter's value: text if the *schema* says so, else parsed JSON or text."""
    text = text.removeprefix("\n").removesuffix("\n")
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def marked_object(body: str, mark: str) -> Any:
    """Return the object in *body*, or None if it is invalid.

    Its keys are unquoted; its strings are delimited by *mark*.
    """
    pieces = body.split(mark)
    outside = [_OPEN_KEY.sub(r'\1"\2":', piece) for piece in pieces[::2]]
    inside = [json.dumps(piece) for piece in pieces[1::2]] + [""]
    return json_object(
        "".join(part for pair in zip(outside, inside, strict=False) for part in pair)
    )
