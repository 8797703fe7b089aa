"""One session behind a server: clients list its tools and call them, and its policies judge."""

from argparse import Namespace
from collections.abc import Collection, Mapping
from typing import Any, Final

import anyio
from mcp.server.stdio import stdio_server
from nanocoder import Host, Tool, UsageError, did_you_mean, open_session

from nanocoder_mcp_server.calls import Calls
from nanocoder_mcp_server.protocol import server_of
from nanocoder_mcp_server.settings import Settings

PLUGIN: Final = "mcp-server"
CLIENT: Final = "mcp"
AT_TERMINAL: Final = (
    "a client starts this and speaks the protocol here; --http PORT serves at an address, and"
    " Ctrl-D ends it"
)
ALONE: Final = frozenset({"ask_user", "tool_search", "task_result"})
"""Tools that make sense only to the model of a session."""


def serve(arguments: Namespace, host: Host) -> int:
    """Serve until the client leaves, or a signal ends it; returns the exit code."""
    settings: Settings = host.plugins.settings(PLUGIN)
    named = tuple(filter(None, (arguments.tools or "").split(","))) or settings.tools
    port = _port(arguments.http)
    calls = Calls(patience_s=settings.patience_s)
    with open_session(
        host.cwd,
        config=host.config,
        plugins=host.plugins,
        warn=host.say,
        approve=calls.approve,
        ask=calls.answer,
    ) as session:
        calls.session = session
        server = server_of(calls, chosen_tools(session.tools, named))
        try:
            if port is None:
                if host.is_interactive:
                    host.say(AT_TERMINAL)
                anyio.run(_on_standard_streams, server)
            else:
                from nanocoder_mcp_server.addressed import serve_at_address  # with a web server

                serve_at_address(server, port)
        finally:
            calls.close()
    return 0


def chosen_tools(
    tools: Mapping[str, Tool[..., Any]], named: Collection[str]
) -> dict[str, Tool[..., Any]]:
    """Return the tools to offer: those *named*, or all that need neither a model nor a person.

    Raises: UsageError for a name that no tool has.
    """
    for name in named:
        if name not in tools:
            raise UsageError(f"there is no tool {name!r}{did_you_mean(name, tools)}")
    if named:
        return {name: tools[name] for name in named}
    return {
        name: tool
        for name, tool in tools.items()
        if "*" not in tool.composed_of and tool.plugin != CLIENT and name not in ALONE
    }


def _port(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) > 65_535:  # noqa: PLR2004 - the limit of TCP
        raise UsageError(f"--http takes a port from 0 to 65535, not {text!r:.40}")
    return int(text)


async def _on_standard_streams(server: Any) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
