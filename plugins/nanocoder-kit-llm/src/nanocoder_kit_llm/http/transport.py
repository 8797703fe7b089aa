"""The transport of our httpx clients: a cancel or a timer ends every wait of its connections.

The only module that imports httpx and httpcore at once; the kit for web tools uses it, too.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.util import find_spec
from ssl import SSLContext
from threading import Thread
from typing import Any, Final

from nanocoder import Cancel, ConfigError, without_password

from nanocoder_kit_llm.http.http_chunks import ChunkJoiner
from nanocoder_kit_llm.http.timers import TotalTimer

if "httpx" not in sys.modules:
    # If click is installed, httpx imports its own command line, and with it click and rich.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    import httpx

    del sys.modules["httpx._main"]

import httpcore
import httpx

KEEPALIVE_S: Final = 50.0  # load balancers commonly close idle connections after 60
PACKED_BYTES: Final = 4 * 1024  # unpacked they are at most a thousand times as many
_CORE_ERRORS: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


class Bounds:
    """Cancel and timer of the current request; either ends its waits."""

    def __init__(self) -> None:
        self.cancel = Cancel()
        self.timer = TotalTimer(0)
        self._socket: socket.socket | None = None

    @contextmanager
    def during(self, cancel: Cancel, timer: TotalTimer) -> Iterator[None]:
        """Make *cancel* and *timer* end every wait inside the block."""
        cancel.check()
        self.cancel, self.timer = cancel, timer
        forget = cancel.on_set(self._shut)
        try:
            yield
        finally:
            forget()

    def hold(self, sock: socket.socket) -> None:
        """Register *sock* as the socket that a cancel shuts down; raises Cancelled."""
        self._socket = sock
        self.cancel.check()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                # Not sock.shutdown: on a TLS socket it removes the state under the reader.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Transport(httpx.BaseTransport):
    """Sends the requests of one thread within *bounds*.

    *proxy* is a URL or "". *resolve* returns the allowed addresses of a host, or raises; each host
    is resolved once, and the connection is made to one of them.
    """

    def __init__(
        self,
        bounds: Bounds,
        *,
        proxy: str = "",
        resolve: Callable[[str, int], Sequence[str]] | None = None,
    ) -> None:
        self._proxy = _core_proxy(proxy) if proxy else None
        self._backend = _Backend(bounds, resolve or (lambda host, _port: [host]))
        self._pools: dict[str, httpcore.ConnectionPool] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send *request*; the body of the answer has not been read."""
        url = request.url
        core_request = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _httpx_errors():
            response = self._pool(url.scheme).handle_request(core_request)
        body = _Body(response)
        return httpx.Response(response.status, headers=response.headers, stream=body)

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()

    def _pool(self, scheme: str) -> httpcore.ConnectionPool:
        if scheme not in self._pools:
            self._pools[scheme] = httpcore.ConnectionPool(
                ssl_context=tls_context() if scheme == "https" else None,
                proxy=self._proxy,
                keepalive_expiry=KEEPALIVE_S,
                network_backend=self._backend,
            )
        return self._pools[scheme]


class _Body(httpx.SyncByteStream):
    """The bytes of a response; compressed ones in parts small enough to limit a zip bomb."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self._is_packed = any(name.lower() == b"content-encoding" for name, _ in response.headers)

    def __iter__(self) -> Iterator[bytes]:
        with _httpx_errors():
            for piece in self._response.iter_stream():
                if self._is_packed:
                    starts = range(0, len(piece), PACKED_BYTES)
                    yield from (piece[start : start + PACKED_BYTES] for start in starts)
                else:
                    yield piece

    def close(self) -> None:
        self._response.close()


class _Backend(httpcore.NetworkBackend):
    """Opens connections on threads: neither a name lookup nor a connect can be woken."""

    def __init__(self, bounds: Bounds, resolve: Callable[[str, int], Sequence[str]]) -> None:
        self._bounds = bounds
        self._resolve = resolve
        self._sync = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of *host* that answers."""
        seconds = _shorter_wait(timeout, self._bounds.timer.remaining_s())

        def connect() -> httpcore.NetworkStream:
            problem = httpcore.ConnectError("the host has no address")
            for address in self._resolve(host, port):
                try:
                    return self._sync.connect_tcp(
                        address, port, seconds, local_address, socket_options
                    )
                except httpcore.ConnectError as error:
                    problem = error
            raise problem

        return _BoundedStream(_open_within(connect, seconds, self._bounds.cancel), self._bounds)


def _open_within(
    connect: Callable[[], httpcore.NetworkStream], seconds: float | None, cancel: Cancel
) -> httpcore.NetworkStream:
    """Return the stream that *connect* opens; a timeout or cancel abandons its thread."""
    outcome: Future[httpcore.NetworkStream] = Future()

    def run() -> None:
        try:
            stream = connect()
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            with suppress(InvalidStateError):
                outcome.set_exception(error)
            return
        try:
            outcome.set_result(stream)
        except InvalidStateError:  # the caller timed out
            stream.close()

    Thread(target=run, daemon=True, name="nanocoder-connect").start()
    forget = cancel.on_set(outcome.cancel)
    try:
        return outcome.result(seconds)
    except (TimeoutError, CancelledError):
        if not outcome.cancel():  # it was connected at this very moment
            return outcome.result()
        cancel.check()
        raise httpcore.ConnectTimeout("no connection in time") from None
    finally:
        forget()


class _BoundedStream(httpcore.NetworkStream):
    """A connection whose every wait ends with a cancel or with the timer of the request."""

    def __init__(self, stream: httpcore.NetworkStream, bounds: Bounds) -> None:
        self._stream = stream
        self._bounds = bounds
        self._socket: socket.socket = stream.get_extra_info("socket")
        self._chunks = ChunkJoiner()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read the available bytes, with the chunks of a body joined."""
        while True:
            self._bounds.hold(self._socket)
            seconds = _shorter_wait(timeout, self._bounds.timer.read_s())
            data = self._stream.read(max_bytes, seconds)
            ready = self._chunks.feed(data) if data else self._chunks.finish()
            if ready or not data:
                return ready

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of *buffer*."""
        self._chunks.restart()
        self._bounds.hold(self._socket)
        seconds = _shorter_wait(timeout, self._bounds.timer.remaining_s())
        self._stream.write(buffer, seconds)

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Return the same connection under TLS."""
        self._bounds.hold(self._socket)
        seconds = _shorter_wait(timeout, self._bounds.timer.remaining_s())
        secured = self._stream.start_tls(ssl_context, server_hostname, seconds)
        return _BoundedStream(secured, self._bounds)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        """Return httpcore's metadata *info* of the connection."""
        return self._stream.get_extra_info(info)


def _shorter_wait(timeout: float | None, seconds: float) -> float | None:
    """Return the shorter wait, None for an endless one; raises ReadTimeout when time is up."""
    if seconds <= 0:
        raise httpcore.ReadTimeout("no time is left")
    shorter = seconds if timeout is None else min(timeout, seconds)
    return None if shorter == float("inf") else shorter


@contextmanager
def _httpx_errors() -> Iterator[None]:
    """Raise httpcore's errors as those of the same name in httpx, as httpx's own transport does."""
    try:
        yield
    except _CORE_ERRORS as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error


def _core_proxy(address: str) -> httpcore.Proxy:
    harmless = without_password(address)
    try:
        proxy = httpx.Proxy(address)
    except (ValueError, httpx.InvalidURL):
        raise ConfigError(
            f"the proxy {harmless!r} is not an http://, https:// or socks5:// address"
        ) from None
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise ConfigError(
            f"the proxy {harmless!r} needs the package socksio: install nanocoder-kit-llm[socks]"
        )
    return httpcore.Proxy(str(proxy.url), auth=proxy.raw_auth)


def tls_context() -> SSLContext:
    """Return the TLS context with the CAs of SSL_CERT_FILE, SSL_CERT_DIR or certifi."""
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)  # making one takes 15 ms
def _tls_context(file: str | None, folder: str | None) -> SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise ConfigError(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names, {file or folder!r},"
            f" cannot be read: {error}"
        ) from error


def open_client(transport: httpx.BaseTransport) -> httpx.Client:
    """Return a client for requests that are made by `httpx.Request` and sent as they are.

    Made by the client's own methods they would carry its cookies and default headers. It has no
    timeouts, because the timer of each request bounds them.
    """
    return httpx.Client(transport=transport, timeout=httpx.Timeout(None), trust_env=False)
