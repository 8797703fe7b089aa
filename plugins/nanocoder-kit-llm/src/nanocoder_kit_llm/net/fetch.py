"""One request with its redirects: each hop is checked, all of it has one deadline."""

from collections.abc import Callable, Mapping
from contextlib import closing

from attrs import frozen
from nanocoder import Cancel, ToolError

from nanocoder_kit_llm.http.timers import TotalTimer
from nanocoder_kit_llm.net.answer import Answer
from nanocoder_kit_llm.net.guard import Guard
from nanocoder_kit_llm.net.target import Target


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
    from nanocoder_kit_llm.net import exchange  # httpx takes 30 ms; only a request needs it

    limits = limits or Limits()
    timer, hops = TotalTimer(limits.seconds), list[str]()
    with exchange.open_client(guard, cancel, timer) as client:
        sender = exchange.Exchange(client, headers or {}, follow=follow)
        while True:
            target = on_hop(target) if on_hop is not None else target
            guard.check(target)
            with (
                exchange.errors_of(target, limits.seconds, cancel),
                closing(sender.send(method, target)) as hop,
            ):
                if sender.redirect is None:
                    body, is_cut = exchange.read(hop, limits.body_bytes)
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
            target, method = sender.redirect, sender.method
