"""Sanitized tool definitions of a server: names, texts and schemas that are safe to use."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from nanocoder import ToolError, count_tokens, for_terminal, one_line
from nanocoder_schema import canonical_json, for_model_schema

from nanocoder_mcp.prompts import prompt_of, resource_of
from nanocoder_mcp.raw_schema import DIALECT, is_known_dialect, refuse_unsafe, without_dialect
from nanocoder_mcp.server import as_name

PROBLEM: Final = "nanocoder.problem"
"""The key below `_meta` with the reason a tool cannot be offered."""
MAX_TOOLS: Final = 200
MAX_TEXTS: Final = 500
"""Limit of the prompts, and of the resources, in a record; others can still be named."""
MAX_NAME_CHARS: Final = 64
MAX_DESCRIPTION_CHARS: Final = 2_048
MAX_TEXT_CHARS: Final = 1_024
MAX_SCHEMA_CHARS: Final = 32_000
MAX_DEPTH: Final = 24
SHOWN_CHARS: Final = 60


class Listing(NamedTuple):
    """The tools of a server that can be offered, and the reason each other one cannot, by name.

    *prompts* and *resources* are those that a user can type in a conversation.
    """

    tools: list[dict[str, Any]]
    left_out: dict[str, str]
    prompts: tuple[dict[str, Any], ...] = ()
    resources: tuple[dict[str, Any], ...] = ()


def listing_of(
    server: str, raw_tools: Sequence[Mapping[str, Any]], *more: Sequence[Mapping[str, Any]]
) -> Listing:
    """Return the usable part of the raw JSON lists of *server*.

    *more* are its prompts, and its resources.
    """
    tools: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    counts = Counter(tool_name(server, str(raw.get("name", ""))) for raw in raw_tools)
    for raw in raw_tools:
        name = str(raw.get("name", ""))
        label = one_line(name, SHOWN_CHARS) or "(no name)"
        if counts[tool_name(server, name)] > 1:
            left_out[label] = "it has two tools of this name, which cannot be told apart"
        elif len(tools) >= MAX_TOOLS:
            left_out[label] = f"it has more than {MAX_TOOLS} tools"
        else:
            try:
                tools.append(_definition(server, raw))
            except ToolError as error:
                left_out[label] = str(error)
    readers = zip((prompt_of, resource_of), more, strict=False)
    texts = (tuple(filter(None, map(read, raw[:MAX_TEXTS]))) for read, raw in readers)
    return Listing(sorted(tools, key=lambda tool: str(tool["name"])), left_out, *texts)


def tool_name(server: str, name: str) -> str:
    """Return nanocoder's name of the tool *name* of *server*: letters, digits and _."""
    prefix, own = as_name(server), as_name(name)
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:6]
    # Many servers prefix the names of their tools with their own. A name without an ASCII letter
    # or digit would leave only the prefix, which may be the name of another tool of ours.
    full = f"mcp_{prefix}_{own.removeprefix(f'{prefix}_') or mark}"
    if len(full) <= MAX_NAME_CHARS:
        return full
    return f"{full[: MAX_NAME_CHARS - 7]}_{mark}"


def digest_of(raw: Mapping[str, Any]) -> str:
    """Return the digest of a definition as it came; any change of it changes the digest."""
    try:
        text = canonical_json(dict(raw))
    except ValueError:  # a number that JSON has not, such as 1e999
        text = repr(raw)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _definition(server: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition to record for a tool; raises ToolError if it cannot be offered."""
    name, meta = raw.get("name"), raw.get("_meta")
    if isinstance(meta, Mapping) and isinstance(meta.get(PROBLEM), str):
        raise ToolError(clean_text(meta[PROBLEM], MAX_TEXT_CHARS))
    if not isinstance(name, str) or not name.strip():
        raise ToolError("it has no name")
    if for_terminal(name, keep_emoji=False) != name or "\n" in name or "\t" in name:
        raise ToolError("its name has control or invisible characters")
    if len(name) > 2 * MAX_NAME_CHARS:
        raise ToolError(f"its name has more than {2 * MAX_NAME_CHARS} characters")
    if _is_only_a_task(raw.get("execution")):
        raise ToolError("it runs only as a task of the protocol, which nanocoder does not support")
    schema = _schema(raw.get("inputSchema"))
    described = clean_text(str(raw.get("description") or ""), MAX_DESCRIPTION_CHARS)
    description = f"The MCP server {server} says: {described or 'nothing about this tool.'}"
    full = tool_name(server, name)
    wire = {
        "name": full,
        "description": description,
        "parameters": for_model_schema(without_dialect(schema)),
    }
    return {
        "name": full,
        "original": name,
        "description": description,
        "schema": schema,
        "annotations": _annotations(raw.get("annotations")),
        "tokens": count_tokens(canonical_json(wire)),
        "digest": digest_of(raw),
    }


def _is_only_a_task(execution: object) -> bool:
    return isinstance(execution, Mapping) and execution.get("taskSupport") == "required"


def _schema(raw: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments, cleaned; raises ToolError."""
    if not isinstance(raw, Mapping) or raw.get("type", "object") != "object":
        raise ToolError("its arguments are not described by a JSON Schema of an object")
    if _depth(raw) > MAX_DEPTH:
        raise ToolError(f"its schema is nested deeper than {MAX_DEPTH} levels")
    try:
        size = len(canonical_json(dict(raw)))
    except ValueError as error:
        raise ToolError(f"its schema is not JSON: {error}") from error
    if size > MAX_SCHEMA_CHARS:
        raise ToolError(f"its schema has more than {MAX_SCHEMA_CHARS:,} characters")
    schema: dict[str, Any] = {"type": "object", "properties": {}, **_cleaned(raw)}
    if not is_known_dialect(schema.get(DIALECT)):
        schema.pop(DIALECT, None)
    if not isinstance(schema["properties"], dict):
        raise ToolError("its schema is invalid: the properties are not an object")
    refuse_unsafe(schema)
    return schema


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        # A value such as one of an enum has to be sent as it is; JSON escapes its line ends.
        is_plain = _is_visible(value.replace("\r", "\n")) and len(value) <= MAX_TEXT_CHARS
        return value if is_plain else clean_text(value, MAX_TEXT_CHARS)
    if isinstance(value, Mapping):
        return {_key(key): _cleaned(_as_objects(key, inner)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(inner) for inner in value]
    return value


def _as_objects(key: object, parts: Any) -> Any:
    """Return the schemas below *key*, true and false as objects, which all readers accept."""
    if key in {"properties", "$defs"} and isinstance(parts, Mapping):
        return {name: _as_object(part) for name, part in parts.items()}
    if key in {"anyOf", "prefixItems"} and isinstance(parts, list):
        return [_as_object(part) for part in parts]
    return parts


def _as_object(schema: Any) -> Any:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema


def _key(key: object) -> str:
    text = str(key)
    if not (text.isprintable() and _is_visible(text)) or len(text) > MAX_TEXT_CHARS:
        raise ToolError("its schema has a name with hidden characters, or a very long one")
    return text


def _depth(value: Any, level: int = 0) -> int:
    if level > MAX_DEPTH:
        return level
    inner = list(_inner(value))
    return max((_depth(each, level + 1) for each in inner), default=level)


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value


def _annotations(raw: object) -> dict[str, bool]:
    """Return the hints of a server; they only ever make a verdict stricter."""
    hints = raw if isinstance(raw, Mapping) else {}
    return {key: value for key, value in hints.items() if isinstance(value, bool)}


def clean_text(text: str, most: int) -> str:
    """Return untrusted *text*, cut to *most* characters, with invisible characters escaped.

    The user and the model read the same text.
    """
    clean = for_terminal(text[:most].replace("\r\n", "\n")).strip()
    return f"{clean} […]" if len(text) > most else clean


def _is_visible(line: str) -> bool:
    return for_terminal(line) == line
