"""The latest messages to each client, so that one that lost its stream can resume it."""

from collections import deque
from typing import Any, Final

from attrs import field, frozen
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import (
    StreamableHTTPASGIApp,
    StreamableHTTPSessionManager,
)
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from starlette.applications import Starlette
from starlette.routing import Route

MAX_EVENTS: Final = 1_000
"""Limit of the stored events of a session."""
MAX_BYTES: Final = 4 * 1024 * 1024
"""Size limit of these events."""
RETRY_MS: Final = 1_000
"""Delay before a client reconnects a lost stream, in milliseconds."""
LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


@frozen
class Event:
    """One message of a *stream*; b"" begins a stream."""

    number: int
    stream: str
    message: bytes = field(repr=False)


class Events(EventStore):
    """The latest events of one session: at most *events* with at most *size* bytes."""

    def __init__(self, events: int = MAX_EVENTS, size: int = MAX_BYTES) -> None:
        self._events: deque[Event] = deque()
        self._max_events = events
        self._max_bytes = size
        self._bytes = 0
        self._number = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Store a message, evict the oldest beyond the limits, and return the event's id."""
        text = b"" if message is None else _json(message)
        self._number += 1
        self._events.append(Event(self._number, stream_id, text))
        self._bytes += _size(self._events[-1])
        while len(self._events) > self._max_events or self._bytes > self._max_bytes:
            self._bytes -= _size(self._events.popleft())
        return str(self._number)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send the later events of an event's stream, and return the stream.

        Returns None for an evicted event, since the missing ones are unknown.
        """
        events = [*self._events]
        last = next((event for event in events if str(event.number) == last_event_id), None)
        if last is None:
            return None
        for event in events:
            if event.stream == last.stream and event.number > last.number and event.message:
                message = jsonrpc_message_adapter.validate_json(event.message)
                await send_callback(EventMessage(message, str(event.number)))
        return last.stream


class Sessions(StreamableHTTPSessionManager):
    """The sessions of the clients. Each has events of its own, which end with it."""

    @property
    def event_store(self) -> EventStore | None:
        """New events: the SDK asks for them once for each session."""
        return Events()

    @event_store.setter
    def event_store(self, _store: EventStore | None) -> None:
        """Take no store that all sessions would share."""


def app_of(server: Server[Any]) -> Starlette:
    """Return the application that serves *server* at /mcp to clients of this machine."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{host}:*" for host in LOCAL],
        allowed_origins=[f"http://{host}:*" for host in LOCAL],
    )
    sessions = Sessions(server, security_settings=security, retry_interval=RETRY_MS)
    return Starlette(
        routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions))],
        lifespan=lambda _: sessions.run(),
    )


def _json(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _size(event: Event) -> int:
    return len(event.message) + len(event.stream)
