"""The way to a server: a process of its own, or HTTP to its address."""

from collections.abc import Callable
from pathlib import Path

from nanocoder_mcp.connection import Connection
from nanocoder_mcp.http import Endpoint
from nanocoder_mcp.oauth import auth_of
from nanocoder_mcp.process import ServerProcess
from nanocoder_mcp.requests import ServerRequests
from nanocoder_mcp.server import Server


def connection_to(server: Server, wrap: Callable[[list[str]], list[str]], cwd: Path) -> Connection:
    """Return a connection to *server*, not opened yet; *wrap* puts its command in a sandbox."""
    requests = ServerRequests(server.name, cwd)
    if server.url:
        return Connection(server, Endpoint(server, auth_of(server)), requests)
    return Connection(server, ServerProcess(server, wrap, cwd), requests)
