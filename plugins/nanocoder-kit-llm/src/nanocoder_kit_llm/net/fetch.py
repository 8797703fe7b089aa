"""One request with its redirects: each hop is checked, all of it has one deadline."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from attrs import frozen
from nanocoder import Cancel, TimedOut, ToolError

from nanocoder_kit_llm.net.answer import Answer
from nanocoder_kit_llm.net.guard import Guard
from nanocoder_kit_llm.net.target import Target, invalid_url, parse_url

if TYPE_CHECKING:
    import httpx

USER_AGENT: Final = "nanocoder/0.1 (+coding agent)"
# A single layer: several of them turn one piece of an answer into gigabytes.
ENCODINGS: Final = frozenset({"", "identity", "gzip", "deflate"})


@frozen
class Limits:
    """Limits of one request: total seconds and redirects, and bytes of the decompressed body."""

    seconds: float = 30.0
    redirects: int = 5
    body_bytes: int = 5_000_000


def fetch(
    target: Target,
    guard: Guard,
    *,
    cancel: Cancel,
    limits: Limits | None = None,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    on_hop: Callable[[Target], Target] | None = None,
    follow: bool = True,
) -> Answer:
    """Ask *target* and follow its redirects; no credentials, cookies or proxies are used.

    *on_hop* sees each target before it is asked, the first one too, and returns the one to ask.
    Without *follow* a redirect is an answer like any other.
    Raises: ToolError (private_address, not_allowlisted, host_not_found, connect_failed,
    scheme_not_allowed, invalid_url, too_many_redirects, unsupported_encoding, broken_answer …),
    TimedOut, Cancelled.
    """
    from nanocoder_kit_llm.http import (  # httpx takes 30 ms; only a request needs it
        timers,
        transport,
    )

    limits = limits or Limits()
    timer, bounds = timers.TotalTimer(limits.seconds), transport.Bounds()
    network = transport.Transport(bounds, resolve=guard.resolve)
    hops: list[str] = []
    with bounds.during(cancel, timer), transport.open_client(network) as client:
        exchange = _Exchange(client, headers or {}, follow=follow)
        while True:
            target = on_hop(target) if on_hop is not None else target
            guard.check(target)
            with _errors_of(target, limits, cancel), closing(exchange.send(method, target)) as hop:
                if exchange.redirect is None:
                    body, is_cut = _read(hop, limits.body_bytes)
                    fields, seconds = dict(hop.headers), timer.elapsed_s()
                    return Answer(
                        target.url, hop.status_code, fields, body, is_cut, tuple(hops), seconds
                    )
            hops.append(target.url)
            if len(hops) > limits.redirects:
                raise ToolError(
                    f"{hops[0]} redirects more than {limits.redirects} times",
                    error_class="too_many_redirects",
                    data={"hops": hops},
                )
            target, method = exchange.redirect, exchange.method


class _Exchange:
    """Requests through redirects; *redirect* and *method* are the next target and method."""

    def __init__(self, client: "httpx.Client", headers: Mapping[str, str], *, follow: bool) -> None:
        client.event_hooks = {"response": [self._record_redirect]}
        self._client = client
        self._headers = {"user-agent": USER_AGENT, "accept": "*/*", "accept-encoding": "gzip"}
        self._headers.update(headers)
        self._follow = follow
        self.redirect: Target | None = None
        self.method = ""

    def send(self, method: str, target: Target) -> "httpx.Response":
        """Return the answer of *target*, whose body has not been read."""
        import httpx

        self.redirect = None
        exact = {"target": target.path.encode()}  # exactly the checked target is requested
        request = httpx.Request(method, target.url, headers=self._headers, extensions=exact)
        response = self._client.send(request, stream=True)
        self.method = response.next_request.method if response.next_request else method
        return response

    def _record_redirect(self, response: "httpx.Response") -> None:
        """Read the address of a redirect strictly, before httpx does."""
        location = response.headers.get("location", "")
        if self._follow and location and response.has_redirect_location:
            self.redirect = parse_url(str(response.request.url.join(location)))


def _read(response: "httpx.Response", limit: int) -> tuple[bytes, bool]:
    """Return at most *limit* unpacked bytes of the body, and whether there was more."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ENCODINGS:
        raise ToolError(
            f"the answer is packed as {encoding[:60]!r}, which was not requested",
            error_class="unsupported_encoding",
        )
    pieces: list[bytes] = []
    size = 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    return b"".join(pieces)[:limit], size > limit


@contextmanager
def _errors_of(target: Target, limits: Limits, cancel: Cancel) -> Iterator[None]:
    """Translate network errors on the way to *target* into a ToolError."""
    import httpx

    try:
        yield
        cancel.check()  # a socket that was shut looks like the end of an answer
    except httpx.TimeoutException:
        raise TimedOut(f"no complete answer within {limits.seconds:g} s") from None
    except httpx.InvalidURL as error:
        raise invalid_url(target.url, f"is refused: {error}") from None
    except httpx.DecodingError as error:
        raise ToolError(
            f"the answer cannot be unpacked: {error}", error_class="broken_encoding"
        ) from None
    except httpx.HTTPError as error:
        cancel.check()
        raise _failure(target, error) from None


def _failure(target: Target, error: Exception) -> ToolError:
    import httpx

    text = " ".join(str(error).split()) or type(error).__name__
    if "CERTIFICATE_VERIFY" in text:
        return ToolError(
            f"{target.authority} has a certificate that is not trusted: {text};"
            " SSL_CERT_FILE names your own certificates",
            error_class="certificate_not_trusted",
        )
    if isinstance(error, httpx.ConnectError):
        return ToolError(
            f"{target.host!r} could not be reached on port {target.port}: {text}",
            error_class="connect_failed",
        )
    return ToolError(f"{target.authority} broke off: {text}", error_class="broken_answer")
