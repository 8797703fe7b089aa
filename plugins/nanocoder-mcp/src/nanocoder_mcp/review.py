"""What a person reads before they accept the tools of a server."""

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from nanocoder import counted, for_terminal, one_line

from nanocoder_mcp.definitions import Listing
from nanocoder_mcp.records import Record, changes
from nanocoder_mcp.server import Server

COLUMNS = 100
MAX_NAMES = 10


def shown_launch(server: Server) -> Iterator[str]:
    """Yield all that decides what runs; values of the person's own file are not shown."""
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
    """Return the commands that give a server at an address a token of the person's."""
    header = '--header "Authorization: Bearer TOKEN"'
    name = server.name
    return f"nanocoder mcp remove {name}, then nanocoder mcp add {name} {server.url} {header}"


def shown_tools(listing: Listing) -> Iterator[str]:
    """Yield a line for each tool of a new server, and for each that is left out."""
    for tool in listing.tools:
        text = str(tool["description"]).partition(" says: ")[2]
        yield f"{tool['name']} ({counted(tool['tokens'], 'token')}): {one_line(text, COLUMNS)}"
    for kind, key, texts in (
        ("prompt", "name", listing.prompts),
        ("resource", "uri", listing.resources),
    ):
        if texts:
            names = ", ".join(str(text[key]) for text in texts[:MAX_NAMES])
            yield f"{counted(len(texts), kind)}: {one_line(names, COLUMNS)}"
    for name, why in listing.left_out.items():
        yield f"left out: {name}: {why}"


def shown_changes(record: Record, listing: Listing) -> Iterator[str]:
    """Yield how the tools of *listing* differ from those that were accepted."""
    if not record.launch:
        yield from shown_tools(listing)
        return
    now = {tool["original"]: tool for tool in listing.tools}
    for name, why in changes(record, tuple(listing.tools)):
        yield f"{now[name]['name']} {why}:"
        yield from _diff(record.tool(name) or {}, now[name])
    for tool in record.tools:
        if tool["original"] not in now:
            yield f"{tool['name']} is gone"
    for name, why in listing.left_out.items():
        if record.left_out.get(name) != why:
            yield f"left out: {name}: {why}"


def _diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    lines = unified_diff(_lines(before), _lines(after), "accepted", "now", lineterm="", n=1)
    yield from (f"  {line}" for line in lines)


def _lines(tool: Mapping[str, Any]) -> list[str]:
    texts = {key: tool[key] for key in ("description", "annotations", "schema") if key in tool}
    text = json.dumps(texts, indent=1, ensure_ascii=False) if texts else ""
    return for_terminal(text.replace("\\n", "\n"), keep_emoji=False).splitlines()
