"""Start a server once to list its tools, and record the accepted ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanocoder import Cancel, SessionInfo

from nanocoder_mcp import records
from nanocoder_mcp.definitions import Listing, listing_of
from nanocoder_mcp.records import Record, launch_digest
from nanocoder_mcp.running import Servers
from nanocoder_mcp.server import Server
from nanocoder_mcp.settings import Settings


def ask_server(cwd: Path, settings: Settings, server: Server) -> tuple[Listing, dict[str, Any]]:
    """Start *server*, return its listing and info, and end it; raises UsageError or ToolError."""
    servers = Servers(SessionInfo("mcp", cwd), settings)
    try:
        lists, info = servers.lists(server, Cancel())
    finally:
        servers.close()
    return listing_of(server.name, *lists), info


def accept(server: Server, listing: Listing, info: Mapping[str, Any]) -> None:
    """Record the accepted tools of *server*; raises ToolError."""
    tools, digest = tuple(listing.tools), launch_digest(server)
    record = Record(digest, tools, listing.left_out, listing.resources, listing.prompts, info)
    records.write(server, record)
