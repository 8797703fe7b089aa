"""The texts that a user reads before accepting the tools of a server."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from nanocoder import counted, for_terminal, one_line

from nanocoder_mcp.definitions import Listing
from nanocoder_mcp.raw_schema import without_dialect
from nanocoder_mcp.records import Record, changes
from nanocoder_mcp.server import Server

COLUMNS = 100
MAX_NAMES = 10
GAPS = re.compile(r"[^\S\n]{20,}|\n(?:[^\S\n]*\n){3,}")
"""Runs of blanks that could push the following text out of sight."""


def shown_launch(server: Server) -> Iterator[str]:
    """Yield the launch settings; values from the user's own file are not shown."""
    verb = "is at" if server.url else "starts"
    yield f"{server.name} {verb}: {server.starts_with}"
    is_own = server.folder is None
    for name, value in sorted(server.env.items()):
        yield f"  with {name}={'...' if is_own else value}"
    for name in server.environment:
        yield f"  with your {name}"
    for name, value in sorted(server.headers.items()):
        yield f"  with the header {name}: {'...' if is_own else value}"


def with_token(server: Server) -> str:
    """Return the commands that configure the user's token for a server at a URL."""
    header = '--header "Authorization: Bearer TOKEN"'
    name = server.name
    return f"nanocoder mcp remove {name}, then nanocoder mcp add {name} {server.url} {header}"


def shown_tools(listing: Listing) -> Iterator[str]:
    """Yield all text that a model reads of a new server's tools, and the tools left out."""
    for tool in listing.tools:
        yield from _shown_tool(tool)
    for kind, key, texts in (
        ("prompt", "name", listing.prompts),
        ("resource", "uri", listing.resources),
    ):
        if texts:
            names = ", ".join(str(text[key]) for text in texts[:MAX_NAMES])
            yield f"{counted(len(texts), kind)}: {one_line(names, COLUMNS)}"
    for name, why in listing.left_out.items():
        yield f"left out: {name}: {why}"


def _shown_tool(tool: Mapping[str, Any]) -> Iterator[str]:
    """Yield all text that a model reads of *tool*: a part cut off could hide anything."""
    yield f"{tool['name']} ({counted(tool['tokens'], 'token')}):"
    text = str(tool["description"]).partition(" says: ")[2]
    yield from (f"  > {line}" for line in _without_gaps(for_terminal(text)).split("\n"))
    schema = without_dialect(tool["schema"])
    for name, argument in schema.pop("properties").items():
        yield f"  argument {_as_json(name)}: {_as_json(argument)}"
    del schema["type"]  # each takes an object
    if schema:
        yield f"  arguments: {_as_json(schema)}"


def _as_json(value: Any) -> str:
    return _without_gaps(for_terminal(json.dumps(value, ensure_ascii=False)))


def _without_gaps(text: str) -> str:
    """Return *text* with each long run of blanks replaced by its length."""

    def counted_gap(gap: re.Match[str]) -> str:
        if gap[0].startswith("\n"):
            return f"\n[{gap[0].count(chr(10)) - 1} empty lines]\n"
        return f"[{len(gap[0])} blanks]"

    return GAPS.sub(counted_gap, text)


def shown_changes(record: Record, listing: Listing) -> Iterator[str]:
    """Yield the differences between the accepted tools and those of *listing*."""
    if not record.launch:
        yield from shown_tools(listing)
        return
    now = {tool["original"]: tool for tool in listing.tools}
    for name, why in changes(record, tuple(listing.tools)):
        yield f"{now[name]['name']} {why}:"
        lines = [*_diff(record.tool(name) or {}, now[name])]
        yield from lines or ["  in nothing that the model reads"]
    for tool in record.tools:
        if tool["original"] not in now:
            yield f"{tool['name']} is gone"
    for name, why in listing.left_out.items():
        if record.left_out.get(name) != why:
            yield f"left out: {name}: {why}"


def _diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    lines = unified_diff(_lines(before), _lines(after), "accepted", "now", lineterm="", n=1)
    yield from (f"  {_without_gaps(line)}" for line in lines)


def _lines(tool: Mapping[str, Any]) -> list[str]:
    texts = {key: tool[key] for key in ("description", "annotations", "schema") if key in tool}
    text = json.dumps(texts, indent=1, ensure_ascii=False) if texts else ""
    return for_terminal(text.replace("\\n", "\n"), keep_emoji=False).splitlines()
