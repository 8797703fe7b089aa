"""One server over HTTP: requests that stream, can be cancelled, and fail as ProviderError."""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from nanocoder import Cancel, ProviderError, without_password

from nanocoder_kit_llm.http.addresses import (
    environment_proxy,
    full_url,
    host_of,
    is_nearby,
    is_this_machine,
    valid_url,
)
from nanocoder_kit_llm.http.breaker import breaker_of
from nanocoder_kit_llm.http.failures import (
    FinalError,
    UnreachedError,
    failure_in_body,
    failure_of_status,
    is_name_failure,
    one_line,
    words_of_page,
)
from nanocoder_kit_llm.http.json_text import decode_json
from nanocoder_kit_llm.http.keys import Key, own_headers
from nanocoder_kit_llm.http.sse import (
    EVENT_LIMIT_BYTES,
    WHOLE_REPLY,
    LineParser,
    SseEvent,
    SseParser,
)
from nanocoder_kit_llm.http.timers import RequestTimers, Timeouts

if TYPE_CHECKING:
    import httpx

    from nanocoder_kit_llm.http.transport import Bounds

HEADER_S: Final = 60.0
LOCAL_HEADER_S: Final = 600.0  # a local server first loads its model and reads the prompt
ERROR_BYTES: Final = 64 * 1024
DRAIN_BYTES: Final = 64 * 1024
UNPACKED: Final = frozenset({"identity", "gzip", "x-gzip", "deflate"})
_OK: Final = 200
_UNAUTHORIZED: Final = 401


class Client:
    """A server at *base_url*, whose connections stay open; one thread uses it at a time.

    The *key* is read for each request, and never appears in an error; *own* are headers of the
    user's configuration. *proxy* is a URL, "environment" (HTTPS_PROXY, NO_PROXY) or "".
    SSL_CERT_FILE or SSL_CERT_DIR select the certificates. Redirects are errors: a key must not
    follow one to another server. A test may replace the network by a *transport*.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: Key | None = None,
        headers: Mapping[str, str] | None = None,
        own: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        proxy: str = "",
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        self._base_url, self.host = valid_url(base_url)
        self._headers = {
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": "nanocoder",
            **_validate_headers(headers or {}),
        }
        self._own = own or {}
        own_headers(self._own)  # report an invalid one before the first request
        limits = timeouts or Timeouts()
        self._is_patient = not limits.header_s and is_nearby(self._base_url)
        self._timeouts = _with_header_timer(limits, self.is_local)
        self._proxy = "" if self.is_local else proxy
        self._way = ""  # the proxy as messages name it
        self._key = key
        self._has_answered = False
        self._breaker = breaker_of(self._base_url)
        self.budget = self._breaker.budget
        self._transport = transport
        self._urls: dict[str, httpx.URL] = {}
        self._opened: tuple[httpx.BaseTransport, Bounds] | None = None

    @property
    def is_local(self) -> bool:
        """Return True if the server is on this machine."""
        return is_this_machine(self._base_url)

    @property
    def is_patient(self) -> bool:
        """Return True if a reply may take any time, because no limit was configured.

        A server nearby may load a model first, and read a long prompt for many minutes.
        """
        return self._is_patient

    def stream_events(
        self, path: str, body: bytes, cancel: Cancel
    ) -> Generator[list[SseEvent], None, None]:
        """Post *body* and yield, for each chunk that arrives, the events that it completes.

        This is one attempt: `Retry.run` retries. A reply in one JSON body is one `WHOLE_REPLY`
        event.
        Raises: ProviderError; Cancelled, within a second after *cancel* is set.
        """
        patient = self._is_patient
        with self._exchange("POST", path, body, cancel, is_patient=patient) as (response, timers):
            chunks = _body_of(response)
            first = _first_chunk(chunks)
            self._refuse_page(response.headers.get("content-type", ""), first, chunks)
            # Proxies drop the content type; no event begins with one of these.
            if first.lstrip()[:1] in {b"{", b"["}:
                reply = _read_up_to(first, chunks, EVENT_LIMIT_BYTES)
                yield [SseEvent(WHOLE_REPLY, reply, is_last=True)]
                return
            self._refuse_words(first, chunks)
            yield from _events(SseParser(), first, chunks, timers)

    def stream_lines(
        self, path: str, body: bytes, cancel: Cancel
    ) -> Generator[list[SseEvent], None, None]:
        """Post *body* and yield lines as `stream_events` yields events: newline-delimited JSON."""
        patient = self._is_patient
        with self._exchange("POST", path, body, cancel, is_patient=patient) as (response, timers):
            chunks = _body_of(response)
            first = _first_chunk(chunks)
            self._refuse_page(response.headers.get("content-type", ""), first, chunks)
            yield from _events(LineParser(), first, chunks, timers)

    def get_json(self, path: str, cancel: Cancel | None = None, body: bytes | None = None) -> Any:
        """Return the JSON at *path*, or the answer to a *body*; raises ProviderError, Cancelled."""
        method = "GET" if body is None else "POST"
        with self._exchange(method, path, body, cancel or Cancel()) as (response, _):
            return decode_json(_read_up_to(b"", _body_of(response), EVENT_LIMIT_BYTES))

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        cancel: Cancel,
        *,
        is_patient: bool = False,
    ) -> Iterator[tuple["httpx.Response", RequestTimers]]:
        self._breaker.check(self.host)
        transport, bounds = self._opened = self._opened or self._open()
        import httpx  # imported by _open, without its command line

        timers = RequestTimers(
            self._timeouts,
            self.host,
            is_patient=is_patient,
            asks_once=is_nearby(self._base_url),
        )
        with bounds.during(cancel, timers):
            try:
                response = self._send(transport, method, path, body)
                self._has_answered = True
                timers.answered()
                try:
                    self._check(response)
                    self._breaker.succeeded()
                    yield response, timers
                finally:
                    response.close()
            except httpx.HTTPError as error:
                cancel.check()
                raise self._breaker.counted(self._network_failure(error, timers)) from error
        cancel.check()  # a socket that a cancel shut down can look like the end of a reply

    def _send(
        self, transport: "httpx.BaseTransport", method: str, path: str, body: bytes | None
    ) -> "httpx.Response":
        """Send a request, once more if its key was refused and another one is there by now."""
        key = self._key_header()
        response = transport.handle_request(self._request(method, path, body, key))
        if response.status_code != _UNAUTHORIZED or self._key is None:
            return response
        if not self._key.is_renewed(key.get(self._key.header, "").removeprefix("Bearer ")):
            return response
        response.close()
        return transport.handle_request(self._request(method, path, body, self._key_header()))

    def _request(
        self, method: str, path: str, body: bytes | None, key: Mapping[str, str]
    ) -> "httpx.Request":
        """Return the complete request; bypassing httpx.Client saves its work on cookies."""
        import httpx  # as above

        url = self._urls[path] = self._urls.get(path) or httpx.URL(full_url(self._base_url, path))
        own = own_headers(self._own) if self._own else {}
        headers = {"Host": url.netloc.decode("ascii"), **self._headers, **key, **own}
        if body is not None:
            headers |= {"Content-Length": f"{len(body)}", "content-type": "application/json"}
        connect_s, write_s = self._timeouts.connect_s, self._timeouts.idle_s
        # Reads have no timeout here, because the timer of each request bounds them.
        timeout = {"connect": connect_s, "write": write_s, "pool": connect_s}
        return httpx.Request(
            method,
            url,
            headers=headers,
            stream=httpx.ByteStream(body or b""),
            extensions={"timeout": timeout},
        )

    def _key_header(self) -> Mapping[str, str]:
        """Return the header with the key; raises ConfigError for a key that cannot be sent."""
        return self._key.headers() if self._key else {}

    def _open(self) -> "tuple[httpx.BaseTransport, Bounds]":
        from nanocoder_kit_llm.http import transport  # httpx takes 30 ms; only a request needs it

        bounds = transport.Bounds()
        proxy, variable = self._proxy, ""
        if proxy == "environment":
            proxy, variable = environment_proxy(self._base_url)
        source = f" ({variable})" if variable else ""
        self._way = f"the proxy {without_password(one_line(proxy))}{source}" if proxy else ""
        return self._transport or transport.Transport(bounds, proxy=proxy), bounds

    def _check(self, response: "httpx.Response") -> None:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding not in UNPACKED:
            raise FinalError(
                f"{self.host} compressed its answer ({one_line(encoding)}); it was asked not to",
                kind="protocol",
            )
        status = response.status_code
        if status == _OK:
            return
        if response.is_redirect:
            location = response.headers.get("location", "")
            target = one_line(host_of(location, self._base_url) or "an invalid address")
            raise FinalError(
                f"{self.host} redirects to {target}; that is not followed, set the base URL itself",
                kind="protocol",
                status=status,
            )
        body = _read_up_to(b"", _body_of(response), ERROR_BYTES)
        error = failure_of_status(
            status,
            body,
            host=self.host,
            headers=response.headers,
            key_from=self._key.source if self._key else "",
        )
        raise self._breaker.counted(error)

    def _refuse_page(self, content_type: str, first: bytes, chunks: Iterator[bytes]) -> None:
        if first.lstrip()[:1] != b"<" and not content_type.startswith("text/html"):
            return
        page = _read_up_to(first, chunks, ERROR_BYTES).decode("utf-8", "replace")
        words = one_line(words_of_page(page))
        raise FinalError(
            f"{self.host} answered with an HTML page instead of a reply{words and ' '}{words};"
            " is the base URL right?",
            kind="protocol",
        )

    def _refuse_words(self, first: bytes, chunks: Iterator[bytes]) -> None:
        """Raise ProviderError for plain text instead of a stream of events."""
        begins = first.removeprefix(b"\xef\xbb\xbf").lstrip()
        # A read may end inside the first field's name.
        if begins[:5] == b"data:" or re.match(rb"(?:data|event|id|retry)? ?:|[a-z]{0,5}\Z", begins):
            return
        if error := failure_in_body(_read_up_to(first, chunks, ERROR_BYTES), host=self.host):
            raise error

    def _network_failure(self, error: Exception, timers: RequestTimers) -> ProviderError:
        import httpx  # as above

        detail = one_line(str(error) or type(error).__name__)
        if isinstance(error, httpx.ReadTimeout):
            return timers.expired()
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return self._connect_failure(detail, error)
        if isinstance(error, httpx.ProxyError) and self._way:
            problem = f"{self._way} does not connect to {self.host}: {detail}"
            return ProviderError(problem, kind="network")
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return ProviderError(
                f"the connection to {self.host} broke off: {detail}", kind="network"
            )
        return ProviderError(f"asking {self.host} failed: {detail}", kind="network")

    def _connect_failure(self, detail: str, error: Exception) -> ProviderError:
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            advice = "; set SSL_CERT_FILE if your company has its own certificates"
            return FinalError(
                f"{self.host} has a certificate that is not trusted: {detail}{advice}",
                kind="network",
            )
        if "WRONG_VERSION_NUMBER" in detail:
            return FinalError(
                f"what answers at {self._base_url} speaks no TLS: {detail}; use http://, or the"
                " server's other port",
                kind="network",
            )
        if self.is_local and not self._has_answered:
            return FinalError(
                f"nothing answers at {self._base_url}: {detail}; is the server running?",
                kind="network",
            )
        again = " any more" if self._has_answered else ""
        if is_name_failure(error):
            detail = f"there is no network, or the name is wrong: {detail}"
        problem = f"{self.host} cannot be reached{again}: {detail}"
        is_proxy = bool(self._way) and "[SSL" not in detail  # TLS begins behind it
        if is_proxy:
            problem = f"{self._way} cannot be reached{again}: {detail}"
        if not self._has_answered and (is_proxy or is_name_failure(error)):
            return UnreachedError(problem, kind="network")
        return ProviderError(problem, kind="network")


def _with_header_timer(timeouts: Timeouts, is_local: bool) -> Timeouts:  # noqa: FBT001
    if timeouts.header_s:
        return timeouts
    return timeouts._replace(header_s=LOCAL_HEADER_S if is_local else HEADER_S)


def _validate_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    # A line end in a key would begin a header of its own, and errors of httpx would show the key.
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise ProviderError(
            "a header value holds a line end or a letter that is not ASCII; is the key right?",
            kind="auth",
        )
    return headers


def _body_of(response: "httpx.Response") -> Iterator[bytes]:
    """Return the body; servers are asked not to pack it, and some do."""
    stream: Any = response.stream
    if response.headers.get("content-encoding", "identity") == "identity":
        return iter(stream)
    from nanocoder_kit_llm.http.packed import unpacked  # few servers

    return unpacked(stream)


def _first_chunk(chunks: Iterator[bytes]) -> bytes:
    return next((chunk for chunk in chunks if chunk.strip()), b"")


def _read_up_to(first: bytes, chunks: Iterator[bytes], limit: int) -> bytes:
    pieces, size = [first], len(first)
    for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > limit:
            break
    return b"".join(pieces)[:limit]


def _events(
    parser: LineParser | SseParser, first: bytes, chunks: Iterator[bytes], timers: RequestTimers
) -> Iterator[list[SseEvent]]:
    try:
        for chunk in chain([first], chunks):
            events = parser.feed(chunk)
            if events:
                timers.progressed()
                yield events
        events = parser.finish()
        if events:
            yield events
    except GeneratorExit:
        _drain(chunks, timers)
        raise


def _drain(chunks: Iterator[bytes], timers: RequestTimers) -> None:
    """Read the rest of the body, up to DRAIN_BYTES, so that the connection can be reused."""
    timers.body_ended()
    size = 0
    with suppress(Exception):
        for chunk in chunks:
            size += len(chunk)
            if size > DRAIN_BYTES:
                return
