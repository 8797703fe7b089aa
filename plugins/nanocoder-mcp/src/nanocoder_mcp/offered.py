"""The reviewed tools of the configured servers, as tools of a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import Effect, Risk, Tool, ToolContext, ToolResult, __version__

from nanocoder_mcp import records
from nanocoder_mcp.configured import configured
from nanocoder_mcp.raw_schema import RawSignature
from nanocoder_mcp.server import Server
from nanocoder_mcp.settings import Settings

PLUGIN: Final = "mcp"
CHANGES: Final = frozenset({Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK})
SHORT_CHARS: Final = 100


def offered_tools(
    others: Mapping[str, Tool[..., Any]], settings: Settings, trusted_folder: Path | None
) -> list[Tool[..., Any]]:
    """Return the tools that a person accepted, of servers that start as they did then."""
    tools: dict[str, Tool[..., Any]] = {}
    for server in configured(settings, trusted_folder).servers.values():
        record = records.read(server)
        if record.agrees_to(server):
            for definition in record.tools:
                # A tool of somebody else keeps its name, and so does the first of two of ours.
                if definition["name"] not in others:
                    tools.setdefault(definition["name"], tool_of(server, definition))
    return list(tools.values())


def tool_of(server: Server, definition: Mapping[str, Any]) -> Tool[..., Any]:
    """Return one reviewed tool; nothing that its server says makes it look harmless."""
    original = definition["original"]
    is_read_only = original in server.read_only
    is_destructive = definition["annotations"].get("destructiveHint") is True
    risk = Risk.DESTRUCTIVE if is_destructive else Risk.DANGEROUS
    tool: Tool[..., Any] = Tool(
        name=definition["name"],
        description=definition["description"],
        handler=_handler(server, original),
        signature=RawSignature(definition["schema"]),
        risk=Risk.SAFE if is_read_only else risk,
        effects=frozenset({Effect.READ, Effect.NETWORK}) if is_read_only else CHANGES,
        timeout_s=server.timeout_s,
        short=_short(definition) if original in server.for_small_models else "",
        schema=definition["schema"],
        tokens=definition["tokens"],
    )
    return tool.owned(PLUGIN, __version__)


def _short(definition: Mapping[str, Any]) -> str:
    text = " ".join(str(definition["description"]).partition(" says: ")[2].split())
    return text.partition(". ")[0][:SHORT_CHARS]


def _handler(server: Server, original: str) -> Any:
    def call(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        result: ToolResult = ctx.resource("servers").call(ctx, server, original, arguments)
        return result

    return call
