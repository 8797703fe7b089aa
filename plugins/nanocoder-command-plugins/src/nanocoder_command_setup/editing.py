"""Changing one value in a configuration file; every other line stays as it is."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder import TOML_TOKENS, ConfigError, ConfigFile

BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def with_value(document: ConfigFile, key: tuple[str, ...], value: Any) -> ConfigFile:
    """Return *document* with *key* set to *value*; raises ConfigError if only a person can."""
    expected = _updated(document.data, key, value)
    texts = _candidates(document, key, as_toml(value))
    return _first_right(document, key, texts, expected, f"set it to {as_toml(value)}")


def without_value(document: ConfigFile, key: tuple[str, ...]) -> ConfigFile:
    """Return *document* without *key*; raises ConfigError if it is missing or hard to remove."""
    expected = _updated(document.data, key, None)
    if expected == document.data:
        raise ConfigError(f"{document.path} does not set {'.'.join(key)}")
    lines = document.text.splitlines(keepends=True)
    if assignment := _statement_of(document, key):
        lines[assignment.first - 1 : assignment.last] = []
    text = "".join(lines)
    texts = [_without_empty_table(text, key[:-1]), text]
    return _first_right(document, key, texts, expected, "remove it")


def _without_empty_table(text: str, table: tuple[str, ...]) -> str:
    """Return *text* without the header of *table*, unless a key or a comment is below it."""
    lines = text.splitlines(keepends=True)
    header = _header_line(ConfigFile(Path(), text.encode()), table) if table else None
    if header is None:
        return text
    below = next((index for index in range(header, len(lines)) if lines[index].strip()), len(lines))
    if below < len(lines) and not lines[below].startswith("["):
        return text
    above = header - 1
    while above and not lines[above - 1].strip():
        above -= 1
    gap = lines[above : header - 1] if below < len(lines) else []
    return "".join([*lines[:above], *gap, *lines[below:]])


def as_toml(value: Any) -> str:
    """Return *value* as TOML on one line; raises ConfigError if it cannot be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        pairs = (f"{_key_as_toml((name,))} = {as_toml(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    raise ConfigError(f"{value!r} cannot be written on one line; edit the file instead")


@frozen
class _Assignment:
    """The statement that sets a key: its lines, its text up to the value, its comments."""

    first: int
    last: int
    name: str
    comment: str
    has_notes: bool


def _candidates(document: ConfigFile, key: tuple[str, ...], value: str) -> Iterator[str]:
    """Yield the text with *key* set: in its statement, its table, a new one, or as a dotted key."""
    lines = document.text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    assignment = _statement_of(document, key)
    if assignment is not None:
        new = f"{assignment.name} = {value}{assignment.comment}\n"
        if not assignment.has_notes:  # comments between the items of a list would be lost
            yield "".join([*lines[: assignment.first - 1], new, *lines[assignment.last :]])
        return
    new = f"{_key_as_toml(key[-1:])} = {value}\n"
    header = _header_line(document, key[:-1])
    if header is not None:
        gap = ["\n"] if len(key) == 1 and not header and lines else []
        yield "".join([*lines[:header], new, *gap, *lines[header:]])
    else:
        gap = ["\n"] if lines else []
        yield "".join([*lines, *gap, f"[{_key_as_toml(key[:-1])}]\n", new])
    top = _header_line(document, ()) or 0
    yield "".join([*lines[:top], f"{_key_as_toml(key)} = {value}\n", *lines[top:]])


def _header_line(document: ConfigFile, table: tuple[str, ...]) -> int | None:
    """Return the line after which a new key of *table* belongs, or None without the table."""
    last_own = 0
    for statement in document.statements:
        if statement.is_header and not table:
            return last_own
        if statement.is_header and statement.key == table:
            return statement.first
        last_own = statement.last
    return None if table else last_own


def _statement_of(document: ConfigFile, key: tuple[str, ...]) -> _Assignment | None:
    """Return the statement that sets *key*, or None."""
    table: tuple[str, ...] = ()
    for statement in document.statements:
        if statement.is_header:
            table = statement.key
        elif table + statement.key == key:
            text = statement.text
            comments = [token for token in re.findall(TOML_TOKENS, text) if token.startswith("#")]
            name = text[: text.index("=", len(_own_key(text)))].rstrip()
            comment = f"  {comments.pop()}" if comments and text.endswith(comments[-1]) else ""
            return _Assignment(statement.first, statement.last, name, comment, bool(comments))
    return None


def _own_key(statement: str) -> str:
    """Return the beginning of *statement* that is its key, quotes included."""
    quote = statement[:1]
    return statement[: statement.index(quote, 1) + 1] if quote in {'"', "'"} else ""


def _key_as_toml(key: tuple[str, ...]) -> str:
    return ".".join(
        part if part and BARE.issuperset(part) else json.dumps(part, ensure_ascii=False)
        for part in key
    )


def _updated(data: Any, key: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy of *data* with *key* set, or without it if *value* is None."""
    rest = dict(data)
    if len(key) > 1:
        inner = rest.get(key[0], {})
        if value is None and key[0] not in rest:
            return rest
        rest[key[0]] = _updated(inner if isinstance(inner, dict) else {}, key[1:], value)
    elif value is None:
        rest.pop(key[0], None)
    else:
        rest[key[0]] = list(value) if isinstance(value, tuple) else value
    return rest


def _first_right(
    document: ConfigFile,
    key: tuple[str, ...],
    texts: Iterable[str],
    expected: dict[str, Any],
    task: str,
) -> ConfigFile:
    """Return the first of *texts* that sets just that; raises ConfigError."""
    for text in texts:
        with suppress(tomllib.TOMLDecodeError):
            if _filled(tomllib.loads(text)) == _filled(expected):
                return ConfigFile(document.path, text.encode())
    line = document.line(key)
    location = f"{document.path}:{line}" if line else str(document.path)
    raise ConfigError(f"{location}: {'.'.join(key)}: too complex for this command; {task} by hand")


def _filled(data: dict[str, Any]) -> dict[str, Any]:
    """Return *data* without its empty tables, which have no meaning."""
    tables = {
        name: _filled(value) if isinstance(value, dict) else value for name, value in data.items()
    }
    return {name: value for name, value in tables.items() if value != {}}
