"""One reply of the model: its pieces as events, what a reply may not be, and asking again."""

import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled, ProviderError
from nanocoder.provider import Finished, Notice, Piece, Retrying, TextDelta
from nanocoder.session.repetition import MAX_PERIOD_CHARS, REPEATS, repeats_itself
from nanocoder.values import Event

MAX_CHARS = 32 * 1024 * 1024
"""Of the text and the thinking of one reply; no model means to write so much."""
MAX_REPLIES = 3
"""How often a reply is asked for that breaks off after it began."""
PAUSE_S = 1.0
CHECK_CHARS = 1_000
"""After so many characters more the end of the text is looked at for repetition."""
TAIL_CHARS = REPEATS * MAX_PERIOD_CHARS
BROKEN_OFF = frozenset({"network", "overloaded", "protocol", "unavailable"})
INTERRUPTED = "[interrupted here]"
CONNECTION_LOST = "[the connection broke off here]"
REPEATED = "[the model repeated this without end and was stopped]"
SHOWN_OF_REPETITION = 2_000

Pieces = Generator[Piece | Finished, None, None]


class Reply:
    """A reply while it comes in."""

    def __init__(self) -> None:
        self.finished: Finished | None = None
        self.is_stuck = False
        self.begun = False
        self._texts: list[str] = []
        self._size = 0
        self._tail = ""
        self._unchecked = 0

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    def events(self, pieces: Pieces) -> Iterator[Event]:
        """Yield an event for each piece; stops when the model repeats itself without end.

        Raises: ProviderError, Cancelled.
        """
        with closing(pieces):
            for piece in pieces:
                if isinstance(piece, Finished):
                    self.finished = piece
                elif isinstance(piece, Retrying):
                    yield retrying(piece)
                elif isinstance(piece, Notice):
                    yield Event("notice", {"text": piece.text})
                elif isinstance(piece, TextDelta):
                    self._take(piece.text)
                    self._texts.append(piece.text)
                    yield Event("text", {"text": piece.text})
                else:
                    self._take(piece.text)
                    yield Event("thinking", {"text": piece.text})
                if self.is_stuck:
                    return

    def check_end(self, model: str) -> None:
        """Raise ProviderError when the reply of *model* has no end."""
        if self.finished is None and not self.is_stuck:
            raise ProviderError(f"{model} ended without finishing its reply", kind="protocol")

    def broke_off(self, error: ProviderError) -> bool:
        """Tell whether *error* cut a reply that had begun, so that asking again is of use."""
        return self.begun and error.retry is not False and error.kind in BROKEN_OFF

    def _take(self, text: str) -> None:
        self.begun = True
        self._size += len(text)
        if self._size > MAX_CHARS:
            raise ProviderError(
                f"the reply is longer than {MAX_CHARS:,} characters and was cut off",
                kind="protocol",
                retry=False,
            )
        self._tail = (self._tail + text)[-TAIL_CHARS:]
        self._unchecked += len(text)
        if self._unchecked >= CHECK_CHARS:
            self._unchecked = 0
            self.is_stuck = repeats_itself(self._tail)


def ask(
    stream: Callable[[], Pieces], model: str, cancel: Cancel, keep: Callable[[str], Event]
) -> Generator[Event, None, Reply]:
    """Ask with *stream*, again when the reply breaks off, and return the reply.

    No tool runs before a reply is finished, so asking again repeats nothing but text. Text that no
    end followed is kept with *keep*. Raises: ProviderError, Cancelled.
    """
    for attempt in itertools.count(1):
        reply = Reply()
        try:
            yield from reply.events(stream())
            reply.check_end(model)
        except ProviderError as error:
            if attempt == MAX_REPLIES or not reply.broke_off(error):
                yield from _kept(reply, CONNECTION_LOST, keep)
                raise
            reason = f"the reply broke off: {error}"
            again = Retrying(reason, attempt + 1, MAX_REPLIES, error.status, attempt * PAUSE_S)
            yield retrying(again, discarded=len(reply.text))
            cancel.wait(again.delay_s)
        except Cancelled:
            yield from _kept(reply, INTERRUPTED, keep)
            raise
        else:
            return reply
        cancel.check()
    raise AssertionError  # the loop above has no other end


def cut_repetition(text: str) -> str:
    """Return a text that repeats itself without end, short and with a note."""
    return f"{text[:SHOWN_OF_REPETITION].rstrip()}\n{REPEATED}"


def retrying(again: Retrying, discarded: int = 0) -> Event:
    """Return the event of a request that is repeated; *discarded* characters count no more."""
    pause = f" in {again.delay_s:g} s" if again.delay_s else ""
    data = {
        "message": f"{again.reason}; asking again{pause}, try {again.attempt} of {again.of}",
        "reason": again.reason,
        "status": again.status or None,
        "attempt": again.attempt,
        "of": again.of,
        "delay_s": again.delay_s,
        "discarded": discarded,
    }
    return Event("request.retrying", data)


def _kept(reply: Reply, note: str, keep: Callable[[str], Event]) -> Iterator[Event]:
    if reply.text.strip():
        yield keep(f"{reply.text.rstrip()}\n{note}")
