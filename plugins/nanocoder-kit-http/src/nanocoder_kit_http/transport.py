"""The only module that imports httpcore: connections whose every wait obeys a `Watch`.

httpcore is the engine of httpx. What httpx adds, cookies, redirects, clients in two colours, is not
wanted here, and importing it would take a seventh of the time to the first request.
"""

import os
import queue
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpcore
from nanocoder import Cancel, ProviderError, without_password

from nanocoder_kit_http.watch import Watch

NETWORK_ERRORS: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
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


class Connections:
    """The open connections to one server; the TLS context (15 ms) is made for https only."""

    def __init__(
        self, line: Line, base_url: str, headers: Mapping[str, str], proxy: str = ""
    ) -> None:
        self._headers = dict(headers)
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls_context() if base_url.startswith("https:") else None,
            proxy=_proxy(proxy) if proxy else None,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=line,
        )

    def send(
        self, method: str, url: str, body: bytes | None, *, connect_s: float, write_s: float
    ) -> "Answer":
        """Send one request and return its answer, whose body has not been read.

        Reads obey the line's watch. Raises: httpcore's errors.
        """
        address = httpcore.URL(url)
        headers = {"host": _host_header(url), "accept": "*/*", **self._headers}
        if body is not None:
            headers |= {"content-type": "application/json", "content-length": str(len(body))}
        limits = {"connect": connect_s, "read": None, "write": write_s, "pool": connect_s}
        request = httpcore.Request(
            method,
            address,
            headers=[(name.encode(), _header(value)) for name, value in headers.items()],
            content=body or b"",
            extensions={"timeout": limits},
        )
        return Answer(self._pool.handle_request(request))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class Answer:
    """A status, headers by their names in lower case, and a body that arrives in chunks."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status_code = response.status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it comes."""
        return self._response.iter_stream()

    def close(self) -> None:
        """Give the connection back, or close it when the body was not read to its end."""
        self._response.close()


def tls_context() -> SSLContext:
    """Return what https connections are checked with: SSL_CERT_FILE, SSL_CERT_DIR or certifi."""
    import ssl

    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    import certifi

    return ssl.create_default_context(cafile=certifi.where())


def _host_header(url: str) -> str:
    parts = urlsplit(url)
    standard = {"http": 80, "https": 443}[parts.scheme]
    host = parts.netloc.rpartition("@")[2]
    return host.removesuffix(f":{standard}")


def _header(value: str) -> bytes:
    """Return a header's bytes; a line end in a key would begin a header of its own."""
    if "\r" in value or "\n" in value:
        raise ProviderError("a header value holds a line end; is the key right?", kind="auth")
    try:
        return value.encode("ascii")
    except UnicodeEncodeError:
        raise ProviderError(
            "a header value holds a letter that is not ASCII; is the key right?", kind="auth"
        ) from None


def _proxy(address: str) -> httpcore.Proxy:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ProviderError(
            f"the proxy {without_password(address)!r} is not an http:// or https:// address",
            kind="bad_request",
        )
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if not parts.username:
        return httpcore.Proxy(url=bare)
    return httpcore.Proxy(url=bare, auth=(unquote(parts.username), unquote(parts.password or "")))
