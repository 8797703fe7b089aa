"""One exchange of a request with its redirects, and what its failures mean."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from nanocoder import Cancel, TimedOut, ToolError

from nanocoder_kit_llm.http.timers import TotalTimer
from nanocoder_kit_llm.http.transport import Bounds, Transport
from nanocoder_kit_llm.http.transport import open_client as client_over
from nanocoder_kit_llm.net.guard import Guard
from nanocoder_kit_llm.net.target import Target, invalid_url, parse_url

import httpx  # isort: skip - the transport imports it first, without its command line

USER_AGENT: Final = "nanocoder/0.1 (+coding agent)"
# A single layer: several of them turn one piece of an answer into gigabytes.
ENCODINGS: Final = frozenset({"", "identity", "gzip", "deflate"})


@contextmanager
def open_client(guard: Guard, cancel: Cancel, timer: TotalTimer) -> Iterator[httpx.Client]:
    """Open a client whose connections *guard* checks, until *cancel* or *timer* ends it."""
    bounds = Bounds()
    network = Transport(bounds, resolve=guard.resolve)
    with bounds.during(cancel, timer), client_over(network) as client:
        yield client


class Exchange:
    """Requests through redirects; *redirect* and *method* are the next target and method."""

    def __init__(self, client: httpx.Client, headers: Mapping[str, str], *, follow: bool) -> None:
        client.event_hooks = {"response": [self._record_redirect]}
        self._client = client
        self._headers = {"user-agent": USER_AGENT, "accept": "*/*", "accept-encoding": "gzip"}
        self._headers.update(headers)
        self._follow = follow
        self.redirect: Target | None = None
        self.method = ""

    def send(self, method: str, target: Target) -> httpx.Response:
        """Return the answer of *target*, whose body has not been read."""
        self.redirect = None
        exact = {"target": target.path.encode()}  # exactly the checked target is requested
        request = httpx.Request(method, target.url, headers=self._headers, extensions=exact)
        response = self._client.send(request, stream=True)
        self.method = response.next_request.method if response.next_request else method
        return response

    def _record_redirect(self, response: httpx.Response) -> None:
        """Read the address of a redirect strictly, before httpx does."""
        location = response.headers.get("location", "")
        if self._follow and location and response.has_redirect_location:
            self.redirect = parse_url(str(response.request.url.join(location)))


def read(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
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
def errors_of(target: Target, seconds: float, cancel: Cancel) -> Iterator[None]:
    """Translate network errors on the way to *target* into a ToolError."""
    try:
        yield
        cancel.check()  # a socket that was shut looks like the end of an answer
    except httpx.TimeoutException:
        raise TimedOut(f"no complete answer within {seconds:g} s") from None
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
