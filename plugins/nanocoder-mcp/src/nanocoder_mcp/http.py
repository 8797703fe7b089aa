"""A server at a URL: streamable HTTP, with the stored login."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final, cast

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from nanocoder import ToolError

from nanocoder_mcp.guarded_auth import GuardedAuth, Limited
from nanocoder_mcp.oauth import SessionAuth
from nanocoder_mcp.repairs import with_sound_lists
from nanocoder_mcp.server import Server

FIRST_ERROR: Final = 400
MAX_MESSAGE_BYTES: Final = 8_000_000
EVENTS: Final = "text/event-stream"
REASON_CHARS: Final = 200


class Endpoint:
    """One server at a URL, with our *login* unless its headers contain one."""

    def __init__(self, server: Server, login: httpx2.Auth | None) -> None:
        self._server = server
        self._login = login
        self._status = 0

    @property
    def wants_login(self) -> str:
        """The login step that the user must take before the server answers, or ""."""
        return self._login.problem if isinstance(self._login, SessionAuth) else ""

    @property
    def refusal(self) -> str:
        """The HTTP error that the server last answered with, or ""."""
        if not self._status:
            return ""
        phrase = HTTPStatus(self._status).phrase if self._status in _STATUSES else ""
        return f"answered with HTTP {self._status} {phrase}".rstrip()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Provide the streams of its messages."""
        # A small answer that unpacks to gigabytes would pass every limit.
        headers = {"Accept-Encoding": "identity", **self._server.headers}
        auth = GuardedAuth(self._server, self._login) if self._login is not None else None
        async with create_mcp_http_client(headers=headers, auth=auth) as client:
            client.event_hooks = {"response": [self._note]}
            async with streamable_http_client(self._server.url, http_client=client) as streams:
                incoming, *others = streams
                to_us, repaired = anyio.create_memory_object_stream[SessionMessage | Exception](0)
                relay = asyncio.create_task(_relay(incoming, to_us))
                try:
                    yield (repaired, *others)
                finally:
                    relay.cancel()
                    await asyncio.gather(relay, return_exceptions=True)
                    repaired.close()

    async def _note(self, response: httpx2.Response) -> None:
        # The stream for messages between calls is optional, so its refusal is no error.
        if response.request.method == "POST" and str(response.request.url) == self._server.url:
            self._status = response.status_code if response.status_code >= FIRST_ERROR else 0
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ToolError("sent a packed answer, which was not asked for", error_class="protocol")
        if not response.headers.get("Content-Type", "").startswith(EVENTS):
            stream = cast("httpx2.AsyncByteStream", response.stream)
            response.stream = Limited(stream, MAX_MESSAGE_BYTES)


async def _relay(incoming: Any, to_us: Any) -> None:
    """Pass on each message with lists that can be read; the end of one stream ends the other."""
    async with to_us:
        async for message in incoming:
            await to_us.send(with_sound_lists(message))


_STATUSES: Final = frozenset(HTTPStatus)


def why_unreachable(error: BaseException) -> str:
    """Return the reason a connection failed or broke off, or "" for other errors."""
    if not isinstance(error, httpx2.TransportError):
        return ""
    if isinstance(error, httpx2.TimeoutException):
        return "cannot be reached: it did not answer in time"
    cause: BaseException | None = error
    reason = str(error)
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno:
            # asyncio changes the text of these; errors of name resolution have no number.
            reason = os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
        cause = cause.__cause__ or cause.__context__
    verb = "cannot be reached" if isinstance(error, httpx2.ConnectError) else "broke off"
    return f"{verb}: {' '.join(reason.split())[:REASON_CHARS]}"
