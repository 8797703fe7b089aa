"""Holders of connections: clients with the token as long as they like, others for a moment.

Every program on this machine can connect. Without limits one of them takes all descriptors, and the
event loop does not recover from that.
"""

import asyncio
import hmac
import re
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS: Final = 120
"""With what a session has open, that is less than any system allows a process."""
BACKLOG: Final = 32
"""So many are accepted at once, before any of them is looked at."""
STRANGER_S: Final = 10.0
"""For so long a connection may last whose request has not come, or came without the token."""
SHUTDOWN_S: Final = 2
"""For so long requests go on after a signal: the stream of a client never ends by itself."""
PLACE: Final = rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?"
PLACES: Final = (
    (b"host", re.compile(PLACE), 421),
    (b"origin", re.compile(b"http://" + PLACE), 403),
)
"""What these headers may name, and the status for others: a page elsewhere is no client."""


class Gate:
    """Lets requests with *token* through to *app*, and knows which connections they came by."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self.strangers: dict[tuple[str, int], Connection] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse everybody without the token, and pages of other places."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                await _refuse(send, 401, b"a token is needed\n")
                return
            for name, pattern, status in PLACES:
                if name in headers and not pattern.fullmatch(headers[name]):
                    await _refuse(send, status, b"only clients of this machine are served\n")
                    return
            self.strangers.pop(tuple(scope["client"]), None)
        await self._app(scope, receive, send)

    def protocol(self, **arguments: Any) -> "Connection":
        """Return what reads a new connection, as uvicorn asks for it."""
        return Connection(self, **arguments)


class Connection(H11Protocol):
    """One connection: it counts as a stranger's until a request with the token came by it."""

    def __init__(self, gate: Gate, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._gate = gate
        self._end: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; the oldest of a stranger ends where there are too many."""
        super().connection_made(transport)
        strangers = self._gate.strangers
        if len(self.connections) > MAX_CONNECTIONS:
            oldest = strangers.pop(next(iter(strangers))) if strangers else self
            oldest.transport.abort()
        if self.client is not None and not transport.is_closing():
            strangers[self.client] = self
            self._end = self.loop.call_later(STRANGER_S, self._end_of_stranger).cancel

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        if self._end is not None:
            self._end()
        if self.client is not None and self._gate.strangers.get(self.client) is self:
            del self._gate.strangers[self.client]

    def _end_of_stranger(self) -> None:
        if self.client is not None and self._gate.strangers.get(self.client) is self:
            self.transport.abort()


async def _refuse(send: Any, status: int, text: bytes) -> None:
    head = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    if status == 401:  # noqa: PLR2004 - as the protocol has it
        head.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": text})
