"""Connections that go to checked addresses only, end at a deadline, and can be woken.

The only module that imports httpcore.
"""

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from ssl import SSLContext
from typing import Any, TypeVar

import httpcore
from nanocoder import Cancel, TimedOut, ToolError

from nanocoder_kit_net.guard import Guard

T = TypeVar("T")


class Deadline:
    """The end of one request with all its redirects; raises TimedOut or Cancelled."""

    def __init__(self, seconds: float, cancel: Cancel) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._cancel = cancel
        self._socket: socket.socket | None = None
        self._forget = cancel.on_set(self._wake)

    def left(self) -> float:
        """Return the seconds that are left."""
        self._cancel.check()
        left = self._until - time.monotonic()
        if left <= 0:
            raise self.over()
        return left

    def over(self) -> TimedOut:
        """Return the error."""
        return TimedOut(f"no complete answer within {self._seconds:g} s")

    def hold(self, stream: httpcore.NetworkStream) -> None:
        """Make *stream* the one that cancelling ends."""
        self._socket = stream.get_extra_info("socket")

    def close(self) -> None:
        """Stop listening for the cancel."""
        self._forget()
        self._socket = None

    def on_a_thread(self, work: Callable[[], T]) -> T:
        """Return what *work* returns, but wait no longer than allowed; its thread may go on."""
        inbox: queue.SimpleQueue[T | BaseException | None] = queue.SimpleQueue()

        def run() -> None:
            try:
                inbox.put(work())
            except BaseException as error:  # noqa: BLE001 - raised where somebody waits
                inbox.put(error)

        threading.Thread(target=run, daemon=True, name="nanocoder-lookup").start()
        forget = self._cancel.on_set(lambda: inbox.put(None))
        try:
            found = inbox.get(timeout=self.left())
        except queue.Empty:
            raise self.over() from None
        finally:
            forget()
        if isinstance(found, BaseException):
            raise found
        if found is None:
            self._cancel.check()
            raise self.over()
        return found

    def _wake(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                # Not sock.shutdown: that of a TLS socket takes its state away under the reader.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Line(httpcore.NetworkBackend):
    """Connects to what the guard has checked, never to a name."""

    def __init__(self, guard: Guard, deadline: Deadline) -> None:
        self._guard = guard
        self._deadline = deadline
        self._sync = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline decides
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Look the host up once, check all its addresses, and connect to the first that answers."""
        found = self._deadline.on_a_thread(lambda: self._guard.addresses(host, port))
        problem: Exception | None = None
        for address in found:
            try:
                stream = self._sync.connect_tcp(
                    address, port, self._deadline.left(), local_address, socket_options
                )
            except httpcore.ConnectTimeout:
                raise self._deadline.over() from None
            except httpcore.ConnectError as error:
                problem = error
                continue
            return Stream(stream, self._deadline)
        raise ToolError(
            f"{host!r} could not be reached on port {port}: {problem}", error_class="connect_failed"
        )


class Stream(httpcore.NetworkStream):
    """A connection whose every wait ends at the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline
        deadline.hold(stream)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - as above
        """Read what is there."""
        try:
            return self._stream.read(max_bytes, self._deadline.left())
        except httpcore.ReadTimeout:
            raise self._deadline.over() from None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - as above
        """Write all of *buffer*."""
        try:
            self._stream.write(buffer, self._deadline.left())
        except httpcore.WriteTimeout:
            raise self._deadline.over() from None

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - as above
    ) -> httpcore.NetworkStream:
        """Return the same connection under TLS; the name is the host's, not the address."""
        try:
            secured = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        except httpcore.ConnectTimeout:
            raise self._deadline.over() from None
        return Stream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection knows about itself."""
        return self._stream.get_extra_info(info)
