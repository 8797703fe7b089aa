"""One session behind a server: clients list its tools and call them, and its policies judge."""

import os
import secrets
import sys
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
VARIABLE: Final = "NANOCODER_MCP_TOKEN"
"""The variable with the token of clients over HTTP; without it a new one is printed."""
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
                _at_address(server, port)
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


def _at_address(server: Any, port: int) -> None:
    """Serve on 127.0.0.1 alone, to clients with the token; Host and Origin are checked, too."""
    import logging
    import socket

    import uvicorn

    from nanocoder_mcp_server.connections import BACKLOG, SHUTDOWN_S, Gate
    from nanocoder_mcp_server.events import app_of

    token = os.environ.get(VARIABLE) or secrets.token_urlsafe(32)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            listening.listen(BACKLOG)
        except OSError as error:
            raise UsageError(f"port {port} cannot be used: {error.strerror}") from None
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        words = "the token of NANOCODER_MCP_TOKEN" if os.environ.get(VARIABLE) else token
        where = f"serving at {address}, with the header Authorization: Bearer {words}"
        # The token is for this user, so it bypasses the redaction of messages.
        print(f"nanocoder: {where}", file=sys.__stderr__ or sys.stderr, flush=True)
        gate = Gate(app_of(server), token)
        # An unauthenticated request must not write to the terminal through the SDK or uvicorn.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        logging.getLogger("mcp").propagate = False
        config = uvicorn.Config(
            gate,
            http=gate.protocol,  # type: ignore[arg-type]  # it is called as the class would be
            backlog=BACKLOG,
            timeout_graceful_shutdown=SHUTDOWN_S,
            interface="asgi3",
            log_level="critical",
            lifespan="on",
            access_log=False,
        )
        uvicorn.Server(config).run(sockets=[listening])
    sys.stderr.flush()
