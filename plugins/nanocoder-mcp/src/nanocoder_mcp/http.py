"""A server at an address: streamable HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from nanocoder_mcp.server import Server


@asynccontextmanager
async def streams_of(server: Server) -> AsyncIterator[Any]:
    """Provide the streams of the messages of the server at an address."""
    async with (
        create_mcp_http_client(headers=dict(server.headers)) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams
