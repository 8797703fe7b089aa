"""Limits of connections: those without the token are short-lived and few.

Every program on this machine can connect. Without limits one of them could exhaust the file
descriptors, and the event loop does not recover from that.
"""

import asyncio
import hmac
import re
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS: Final = 120
"""Together with a session's open files this is below any system's descriptor limit."""
BACKLOG: Final = 32
"""Length of the queue of connections that are not accepted yet."""
UNAUTHENTICATED_S: Final = 10.0
"""Lifetime of a connection without a request that has the token, in seconds."""
SHUTDOWN_S: Final = 2
"""Grace period of requests after a signal: a client's stream never ends by itself."""
LOOPBACK: Final = rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?"
LOCAL_HEADERS: Final = (
    (b"host", re.compile(LOOPBACK), 421),
    (b"origin", re.compile(b"http://" + LOOPBACK), 403),
)
"""Allowed values of these headers, and the status for others: web pages are not clients."""


class Gate:
    """Passes requests with *token* to *app*, and tracks the connections without one."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self.unauthenticated: dict[tuple[str, int], Connection] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Reject requests without the token, and those of web pages of other origins."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                await _refuse(send, 401, b"a token is needed\n")
                return
            for name, pattern, status in LOCAL_HEADERS:
                if name in headers and not pattern.fullmatch(headers[name]):
                    await _refuse(send, status, b"only clients of this machine are served\n")
                    return
            self.unauthenticated.pop(tuple(scope["client"]), None)
        await self._app(scope, receive, send)

    def protocol(self, **arguments: Any) -> "Connection":
        """Return the protocol of a new connection, as uvicorn's factory."""
        return Connection(self, **arguments)


class Connection(H11Protocol):
    """One connection; unauthenticated until a request on it had the token."""

    def __init__(self, gate: Gate, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._gate = gate
        self._end: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection; beyond the limit abort the oldest unauthenticated one."""
        super().connection_made(transport)
        unauthenticated = self._gate.unauthenticated
        if len(self.connections) > MAX_CONNECTIONS:
            oldest = unauthenticated.pop(next(iter(unauthenticated))) if unauthenticated else self
            oldest.transport.abort()
        if self.client is not None and not transport.is_closing():
            unauthenticated[self.client] = self
            self._end = self.loop.call_later(UNAUTHENTICATED_S, self._end_unauthenticated).cancel

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop tracking the connection."""
        super().connection_lost(exc)
        if self._end is not None:
            self._end()
        if self.client is not None and self._gate.unauthenticated.get(self.client) is self:
            del self._gate.unauthenticated[self.client]

    def _end_unauthenticated(self) -> None:
        if self.client is not None and self._gate.unauthenticated.get(self.client) is self:
            self.transport.abort()


async def _refuse(send: Any, status: int, text: bytes) -> None:
    head = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    if status == 401:  # noqa: PLR2004 - as the protocol has it
        head.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": text})
