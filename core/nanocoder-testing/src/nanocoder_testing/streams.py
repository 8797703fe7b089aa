"""Checks of a provider's stream against a server that the author provides."""

import time

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled
from nanocoder.provider import Finished, Piece, Provider, Request, TextDelta
from nanocoder.values import Message

CANCEL_S = 1.0
"""Seconds that a stream may go on after it was cancelled."""


def stream_problems(provider: Provider, request: Request | None = None) -> list[str]:
    """Send a request to *provider* and return the problems of its reply.

    A second request is cancelled beforehand, so the server needs no second answer. Raises: as the
    provider does, which a correct server does not cause.
    """
    request = request or Request("model", "Be brief.", [Message("user", "Say hello.")])
    pieces = list(provider.stream(request, Cancel()))
    ends = [piece for piece in pieces if isinstance(piece, Finished)]
    strangers = [
        type(piece).__name__ for piece in pieces if not isinstance(piece, Piece | Finished)
    ]
    problems = [
        f"it yielded a {name}; yield TextDelta, ThinkingDelta, Notice, Retrying, Finished"
        for name in strangers
    ]
    if len(ends) != 1 or not isinstance(pieces[-1], Finished):
        problems.append(f"it yielded {len(ends)} Finished; exactly one must be the last event")
        return problems
    return [*problems, *_end_problems(pieces, ends[0]), *_cancel_problems(provider, request)]


def _end_problems(pieces: list[Piece | Finished], end: Finished) -> list[str]:
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    problems = []
    if text != end.text:
        problems.append(
            f"its pieces say {text!r:.60} and Finished.text {end.text!r:.60}; make them equal"
        )
    ids = [call.id for call in end.calls]
    if len(set(ids)) != len(ids) or not all(ids):
        problems.append(f"its calls have the ids {ids}; give each call an id of its own")
    return problems


def _cancel_problems(provider: Provider, request: Request) -> list[str]:
    cancel = Cancel()
    cancel.set()
    started = time.monotonic()
    try:
        list(provider.stream(request, cancel))
    except Cancelled:
        took = time.monotonic() - started
        return [] if took < CANCEL_S else [f"it took {took:.1f} s to notice that it was cancelled"]
    return ["it went on although it was cancelled; call cancel.check() before asking the server"]
