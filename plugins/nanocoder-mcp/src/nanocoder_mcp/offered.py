"""The reviewed tools of the configured servers, as tools of a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import Effect, Risk, Tool, ToolContext, ToolError, ToolResult, __version__

from nanocoder_mcp import records
from nanocoder_mcp.configured import configured
from nanocoder_mcp.raw_schema import signature_of, without_dialect
from nanocoder_mcp.server import PLUGIN, SAMPLER, Server
from nanocoder_mcp.settings import Settings

CHANGES: Final = frozenset({Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK})
SHORT_CHARS: Final = 100
LAUNCH_CHANGED: Final = (
    "the MCP server {name!r} starts another way than it did when you accepted it:"
    " nanocoder mcp review {name}"
)
READER: Final = "mcp_read"
"""The tool that reads resources and prompts."""


def offered_tools(
    others: Mapping[str, Tool[..., Any]], settings: Settings, trusted_folder: Path | None
) -> list[Tool[..., Any]]:
    """Return the tools that a person accepted, of servers that start as they did then."""
    tools: dict[str, Tool[..., Any]] = {}
    readable: dict[str, Server] = {}
    every = configured(settings, trusted_folder)
    for server in (*every.servers.values(), *every.waiting.values()):
        record = records.read(server)
        why = "" if record.agrees_to(server) else LAUNCH_CHANGED.format(name=server.name)
        if server in every.waiting.values():
            why = every.why
        elif not why and (record.resources or record.prompts):
            readable[server.name] = server
        for definition in record.tools:
            # On a clash of names another plugin's tool wins, then our first one.
            if definition["name"] not in others:
                tools.setdefault(definition["name"], tool_of(server, definition, why))
    if readable and READER not in others:
        tools.setdefault(READER, read_tool(readable))
    if any(SAMPLER in tool.composed_of for tool in tools.values()) and SAMPLER not in others:
        from nanocoder_mcp.sampling import sampling_tool  # few servers may ask

        tools.setdefault(SAMPLER, sampling_tool())
    return list(tools.values())


def read_tool(servers: Mapping[str, Server]) -> Tool[..., Any]:
    """Return the tool that reads resources and prompts of *servers*, by their names."""

    def read(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        prompt, uri = arguments.get("prompt", ""), arguments.get("uri", "")
        if bool(prompt) == bool(uri):
            raise ToolError("give either a uri or a prompt", error_class="invalid_arguments")
        server, values = servers[arguments["server"]], arguments.get("arguments", {})
        result: ToolResult = ctx.resource("servers").read(ctx, server, prompt, uri, values)
        return result

    schema = {
        "type": "object",
        "properties": {
            "server": {"type": "string", "enum": sorted(servers)},
            "uri": {"type": "string", "description": "URI of a resource."},
            "prompt": {"type": "string", "description": "Name of the prompt."},
            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["server"],
        "additionalProperties": False,
    }
    tool: Tool[..., Any] = Tool(
        name=READER,
        description="Read a resource of an MCP server by its URI, or a prompt by its name.",
        handler=read,
        signature=signature_of(schema),
        # A server may have any side effect.
        risk=Risk.DANGEROUS,
        effects=frozenset({Effect.READ, Effect.NETWORK}),
        schema=schema,
    )
    return tool.owned(PLUGIN, __version__)


def tool_of(server: Server, definition: Mapping[str, Any], why: str = "") -> Tool[..., Any]:
    """Return one reviewed tool; its server's hints never lower its risk.

    With *why* the tool never calls its server and answers with that reason.
    """
    original = definition["original"]
    if why:
        return _refusing(definition, why).owned(PLUGIN, __version__)
    is_read_only = original in server.read_only
    is_destructive = definition["annotations"].get("destructiveHint") is True
    risk = Risk.DESTRUCTIVE if is_destructive else Risk.DANGEROUS
    tool: Tool[..., Any] = Tool(
        name=definition["name"],
        description=definition["description"],
        handler=_handler(server, original),
        signature=signature_of(definition["schema"]),
        risk=Risk.SAFE if is_read_only else risk,
        effects=frozenset({Effect.READ, Effect.NETWORK}) if is_read_only else CHANGES,
        composed_of=(SAMPLER,) if server.sampling else (),
        # The time in which a person thinks is not the server's.
        timeout_s=0 if server.sampling and server.timeout_s is None else server.timeout_s,
        short=_short(definition) if original in server.for_small_models else "",
        schema=without_dialect(definition["schema"]),
        tokens=definition["tokens"],
    )
    return tool.owned(PLUGIN, __version__)


def _refusing(definition: Mapping[str, Any], why: str) -> Tool[..., Any]:
    """Return a tool that only fails with the reason *why* it is unavailable."""

    def refuse(arguments: Mapping[str, Any]) -> ToolResult:
        del arguments
        raise ToolError(f"not called: {why}", error_class="definition_changed")

    return Tool(
        name=definition["name"],
        description=definition["description"],
        handler=refuse,
        signature=signature_of(definition["schema"]),
        risk=Risk.SAFE,
        effects=frozenset({Effect.READ}),
        schema=without_dialect(definition["schema"]),
        tokens=definition["tokens"],
    )


def _short(definition: Mapping[str, Any]) -> str:
    text = " ".join(str(definition["description"]).partition(" says: ")[2].split())
    return text.partition(". ")[0][:SHORT_CHARS]


def _handler(server: Server, original: str) -> Any:
    def call(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        result: ToolResult = ctx.resource("servers").call(ctx, server, original, arguments)
        return result

    return call
