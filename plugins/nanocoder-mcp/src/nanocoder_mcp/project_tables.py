"""The tables of a `.mcp.json` as several programs write it: comments, references, labels."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder_mcp.server import KEYS, PROJECT_KEYS

COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
LAST_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
REFERENCE: Final = re.compile(r"\$\{([^}:]*)(?::-([^}]*))?\}")
SWITCHES: Final = ("disabled", "timeout")
LEAST_MS: Final = 1_000
"""Smallest timeout that is taken as milliseconds: smaller ones are seconds."""
MOST_S: Final = 3_600


def tables_of(content: bytes) -> dict[str, Any]:
    """Return the tables of the servers by name; raises ValueError or a LookupError."""
    text = COMMENT.sub(lambda match: match[1] or " ", content.decode("utf-8-sig"))
    data = json.loads(LAST_COMMA.sub(lambda match: match[1] or "", text))
    if not isinstance(data, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - a value of a file
    tables = data["servers" if "mcpServers" not in data and "servers" in data else "mcpServers"]
    return dict(sorted(tables.items()))


def is_disabled(table: object) -> bool:
    """Return True if the file itself switches the server off."""
    return isinstance(table, Mapping) and table.get("disabled") is True


def own_table(table: Any, folder: Path) -> Any:
    """Return the supported keys of *table*, with its references replaced.

    Keys of other programs are left out. Raises: ValueError for a reference to an environment
    variable of the user.
    """
    if not isinstance(table, Mapping):
        return table
    supported = {key: value for key, value in table.items() if key in (*KEYS, *PROJECT_KEYS)}
    if "timeout_s" in table:
        raise ValueError("a project's file may not set 'timeout_s'; it may set 'timeout'")
    seconds = table.get("timeout")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
        seconds = seconds / 1_000 if seconds >= LEAST_MS else seconds
        supported["timeout_s"] = min(seconds, MOST_S)
    return {key: _replaced(value, folder) for key, value in supported.items()}


def unknown_keys(table: object) -> Iterator[str]:
    """Yield the keys of *table* that are not supported."""
    if isinstance(table, Mapping):
        supported = (*KEYS, *PROJECT_KEYS, *SWITCHES)
        yield from (str(key) for key in table if key not in supported)


def _replaced(value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, folder) for inner in value]
    if not isinstance(value, str):
        return value
    return REFERENCE.sub(lambda match: _value_of(match, folder), value)


def _value_of(match: re.Match[str], folder: Path) -> str:
    """Return the value of a reference: only home and project are public, others may be secrets."""
    public = {"HOME": os.path.expanduser("~"), "PWD": str(folder), "workspaceFolder": str(folder)}
    name, default = match[1], match[2]
    if name in public:
        return public[name]
    if default is not None:
        return default
    raise ValueError(
        f"refers to {match[0]}; a project's file gets no variables of yours, so give it a default"
        " (${NAME:-VALUE}), or add a server of your own that names it"
    )
