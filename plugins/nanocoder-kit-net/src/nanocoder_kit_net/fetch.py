"""One request with its redirects: each hop is checked, all of it has one deadline."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from nanocoder import Cancel, ToolError

from nanocoder_kit_net.answer import Answer
from nanocoder_kit_net.body import read_body
from nanocoder_kit_net.guard import Guard
from nanocoder_kit_net.target import Target

if TYPE_CHECKING:
    from nanocoder_kit_net.line import Deadline

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
USER_AGENT: Final = "nanocoder/0.1 (+coding agent)"


@frozen
class Limits:
    """What one request may take: seconds and redirects in all, bytes of the unpacked body."""

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
    from nanocoder_kit_net.line import Deadline  # httpcore takes 40 ms; only a request needs it

    limits = limits or Limits()
    started = time.monotonic()
    deadline = Deadline(limits.seconds, cancel)
    hops: list[str] = []
    sent = {"user-agent": USER_AGENT, "accept": "*/*", "accept-encoding": "gzip", **(headers or {})}
    try:
        while True:
            target = on_hop(target) if on_hop is not None else target
            guard.check(target)
            asked = _Exchange(target, guard, deadline, method, sent, limits.body_bytes, follow)
            status, found, body, is_cut = asked.run()
            location = found.get("location", "")
            if not (follow and status in REDIRECTS and location):
                seconds = time.monotonic() - started
                return Answer(target.url, status, found, body, is_cut, tuple(hops), seconds)
            hops.append(target.url)
            if len(hops) > limits.redirects:
                raise ToolError(
                    f"{hops[0]} redirects more than {limits.redirects} times",
                    error_class="too_many_redirects",
                    data={"hops": hops},
                )
            target = target.joined(location)
            method = "GET" if status in {301, 302, 303} and method == "POST" else method
    finally:
        deadline.close()


@frozen
class _Exchange:
    """One question and its answer, on a connection of its own."""

    target: Target
    guard: Guard
    deadline: "Deadline"
    method: str
    headers: Mapping[str, str]
    limit: int
    follow: bool

    def run(self) -> tuple[int, dict[str, str], bytes, bool]:
        import httpcore

        from nanocoder_kit_net.line import Line

        try:
            with (
                httpcore.ConnectionPool(
                    network_backend=Line(self.guard, self.deadline), max_connections=1
                ) as pool,
                pool.stream(self.method, self._url(), headers=self._headers()) as response,
            ):
                return self._read(response)
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            self.deadline.left()  # a socket that was shut looks like an answer that broke off
            raise self._broken(error) from None

    def _read(self, response: Any) -> tuple[int, dict[str, str], bytes, bool]:
        found = _headers_of(response.headers)
        if self.follow and response.status in REDIRECTS and found.get("location"):
            return response.status, found, b"", False
        encoding = found.get("content-encoding", "")
        body, is_cut = read_body(response.iter_stream(), encoding, self.limit)
        self.deadline.left()
        return response.status, found, body, is_cut

    def _url(self) -> Any:
        import httpcore

        return httpcore.URL(
            scheme=self.target.scheme.encode(),
            host=self.target.host.encode(),
            port=self.target.port,
            target=self.target.path.encode(),
        )

    def _headers(self) -> list[tuple[str, str]]:
        return [("host", self.target.authority), *self.headers.items()]

    def _broken(self, error: Exception) -> ToolError:
        text = " ".join(str(error).split()) or type(error).__name__
        if "CERTIFICATE_VERIFY" in text:
            return ToolError(
                f"{self.target.authority} has a certificate that is not trusted: {text};"
                " SSL_CERT_FILE names your own certificates",
                error_class="certificate_not_trusted",
            )
        return ToolError(f"{self.target.authority} broke off: {text}", error_class="broken_answer")


def _headers_of(pairs: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by lower-case name; those that come twice are joined with a comma."""
    found: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found
