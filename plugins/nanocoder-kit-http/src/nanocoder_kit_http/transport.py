"""The only module that imports httpx: connections whose every wait obeys a `Watch`."""

import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from ssl import SSLContext
from typing import Any, Final

from nanocoder import Cancel, ProviderError

from nanocoder_kit_http.watch import Watch

# httpx imports its own command line, with click and rich, where click is installed; hidden, it does
# without.
_COMMAND_LINE: Final = "httpx._main"
_hidden = _COMMAND_LINE not in sys.modules
if _hidden:
    sys.modules[_COMMAND_LINE] = None  # type: ignore[assignment]
try:
    import httpcore
    import httpx
finally:
    if _hidden:
        del sys.modules[_COMMAND_LINE]

NETWORK_ERRORS: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    httpx.TransportError,
    httpx.StreamError,
)
CONNECT_ERRORS: Final = (httpcore.ConnectError, httpcore.ConnectTimeout)
CUT_ERRORS: Final = (httpcore.RemoteProtocolError, httpcore.ReadError)
KEEPALIVE_S: Final = 50.0  # load balancers commonly close idle connections after 60


class Line(httpcore.NetworkBackend):
    """Opens connections; *watch* and *cancel* are those of the request that is under way."""

    def __init__(self) -> None:
        self._sync = httpcore.SyncBackend()
        self.watch: Watch | None = None
        self.cancel = Cancel()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect on a thread of its own: neither a name lookup nor a connect can be woken."""

        def connect() -> httpcore.NetworkStream:
            return self._sync.connect_tcp(host, port, timeout, local_address, socket_options)

        return WatchedStream(Connecting(connect).wait(timeout, self.cancel), self)


class Connecting:
    """One attempt to connect, which its caller may walk away from."""

    def __init__(self, connect: Callable[[], httpcore.NetworkStream]) -> None:
        self._connect = connect
        self._done: queue.SimpleQueue[httpcore.NetworkStream | Exception | None] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._abandoned = False

    def wait(self, timeout_s: float | None, cancel: Cancel) -> httpcore.NetworkStream:
        """Return the stream; raises what connecting raises, ConnectTimeout or Cancelled."""
        threading.Thread(target=self._run, daemon=True, name="nanocoder-connect").start()
        forget = cancel.on_set(lambda: self._done.put(None))
        try:
            outcome = self._done.get(timeout=timeout_s)
        except queue.Empty:
            outcome = httpcore.ConnectTimeout("no connection in time")
        finally:
            forget()
        if isinstance(outcome, httpcore.NetworkStream):
            return outcome
        self._abandon()
        cancel.check()
        raise outcome or httpcore.ConnectTimeout("no connection in time")

    def _run(self) -> None:
        try:
            stream = self._connect()
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits
            self._done.put(error)
            return
        with self._lock:
            if self._abandoned:
                stream.close()
            else:
                self._done.put(stream)

    def _abandon(self) -> None:
        with self._lock:
            self._abandoned = True
        while not self._done.empty():
            late = self._done.get()
            if isinstance(late, httpcore.NetworkStream):
                late.close()


class WatchedStream(httpcore.NetworkStream):
    """A connection that asks the watch of the current request how long it may block."""

    def __init__(self, stream: httpcore.NetworkStream, line: Line) -> None:
        self._stream = stream
        self._line = line
        self._socket: socket.socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there; raises ProviderError when a timer of the watch runs out."""
        watch = self._line.watch
        if watch is None:
            return self._stream.read(max_bytes, timeout)
        watch.hold(self._socket)
        try:
            return self._stream.read(max_bytes, watch.seconds_left())
        except httpcore.ReadTimeout:
            raise watch.expired() from None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of *buffer*."""
        if self._line.watch is not None:
            self._line.watch.hold(self._socket)
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Return the same connection under TLS."""
        if self._line.watch is not None:
            self._line.watch.hold(self._socket)
        return WatchedStream(
            self._stream.start_tls(ssl_context, server_hostname, timeout), self._line
        )

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection knows about itself."""
        return self._stream.get_extra_info(info)


class Transport(httpx.BaseTransport):
    """httpx's way to the connections of a `Line`."""

    def __init__(self, line: Line, context: SSLContext | None, proxy: str) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            proxy=_proxy(proxy) if proxy else None,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=line,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; errors are httpcore's own."""
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=Body(answer.stream),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class Body(httpx.SyncByteStream):
    """The bytes of an answer, as they come."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        """Give the connection back, or close it when the body was not read to its end."""
        self._stream.close()


def open_client(line: Line, base_url: str, headers: dict[str, str], proxy: str) -> httpx.Client:
    """Return an httpx client; the TLS context (15 ms) is made for https only."""
    context = httpx.create_ssl_context() if base_url.startswith("https:") else None
    return httpx.Client(
        transport=Transport(line, context, proxy),
        headers=headers,
        trust_env=False,
        follow_redirects=False,
    )


def timeout(connect_s: float, write_s: float) -> httpx.Timeout:
    """Return the limits that httpx keeps itself; reads obey the watch."""
    return httpx.Timeout(connect=connect_s, read=None, write=write_s, pool=connect_s)


def _proxy(address: str) -> httpcore.Proxy:
    if not address.startswith(("http://", "https://")):
        raise ProviderError(
            f"the proxy {address!r} is not an http:// or https:// address", kind="bad_request"
        )
    proxy = httpx.Proxy(address)
    return httpcore.Proxy(url=str(proxy.url), auth=proxy.raw_auth)
