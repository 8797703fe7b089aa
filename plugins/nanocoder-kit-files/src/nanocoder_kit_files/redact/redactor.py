"""The redactor: finds secrets in a text, or in a stream of pieces, and puts placeholders there."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from nanocoder_kit_files.redact.clean_texts import CleanTexts, clean_texts
from nanocoder_kit_files.redact.forms import AHEAD, BEHIND, FORMS, PEM_ANCHOR
from nanocoder_kit_files.redact.json_texts import JsonTexts, json_of
from nanocoder_kit_files.redact.known import SHORTEST, KnownValues
from nanocoder_kit_files.redact.placeholders import placeholder

_KEEP_BEHIND: Final = BEHIND + 1


class _Span(NamedTuple):
    """The span of a secret; of two with the same start the longer sorts first."""

    start: int
    negative_end: int
    order: int
    kind: str

    @property
    def end(self) -> int:
        return -self.negative_end


class Redactor:
    """Replaces secrets in text, in linear time.

    Secrets are the values of variables of *environment* whose names seem secret, keys that this
    process has read, and text of a known form: vendors' tokens, private keys, JSON web tokens,
    passwords in addresses.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._known = KnownValues(environment)
        self._state: tuple[Mapping[str, str], CleanTexts, JsonTexts] | None = None

    def redact(self, text: str) -> str:
        """Return *text* with each secret replaced by a placeholder."""
        if len(text) < SHORTEST or not self.holds_secret(text):
            return text  # no copy: nearly all texts have no secret, and they may be large
        stream = self.stream()
        return stream.feed(text) + stream.finish()

    def holds_secret(self, text: str) -> bool:
        """Return True if *text* contains a secret."""
        values, clean, _ = self._knowledge()
        # A call has a hundred texts; most were seen before, and nearly all are ruled out here.
        if text in clean.texts:
            return False
        if clean.may_hold_secret(text) and next(_spans(text, 0, len(text), values), None):
            return True
        clean.add(text)
        return False

    def json_of(self, value: Any) -> str:
        """Return *value* as JSON without spaces; values without a JSON form become their `str`.

        Raises: SecretFoundError for a secret in a text or key, and the errors of `json.dumps`.
        """
        return json_of(value, self._knowledge()[2])

    def stream(self) -> "RedactorStream":
        """Return a stream, whose output does not depend on how its text was split."""
        return RedactorStream(self._known.current())

    @property
    def clean_texts(self) -> Collection[str]:
        """Texts that were checked and contain no secret."""
        return self._knowledge()[1].texts

    def _knowledge(self) -> tuple[Mapping[str, str], CleanTexts, JsonTexts]:
        """Return the known values and the caches of clean texts, as one tuple for all threads."""
        values, state = self._known.current(), self._state
        if state is None or state[0] is not values:
            clean = clean_texts(tuple(values))
            self._state = state = values, clean, JsonTexts(self.holds_secret)
        return state


class RedactorStream:
    """Redacts a text that arrives in pieces; buffers the end that the next piece could change."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._pieces: list[str] = []
        self._size = 0
        self._text = ""  # the undecided text, and a little before it
        self._decided = 0  # offset in it: all before has been returned
        self._covered = 0  # offset in it: up to there a placeholder was returned
        self._waiting: list[_Span] = []

    def feed(self, piece: str) -> str:
        """Add *piece*, and return the text that is certain by now."""
        self._pieces.append(piece)
        self._size += len(piece)
        # Without a line end nothing becomes certain before there are many characters more.
        return self._advance() if "\n" in piece or self._size > AHEAD else ""

    def finish(self) -> str:
        """Return the rest; nothing may be fed afterwards."""
        self._join()
        return self._release(len(self._text))

    def _advance(self) -> str:
        self._join()
        return self._release(max(self._decided, self._certain()))

    def _join(self) -> None:
        self._text = "".join([self._text, *self._pieces])
        self._pieces, self._size = [], 0

    def _certain(self) -> int:
        """Return the offset up to which no further text can change the secrets."""
        far = len(self._text) - AHEAD
        line_end = self._text.rfind("\n") + 1
        # Only a private key reaches over lines.
        pem = self._text.find(PEM_ANCHOR, max(self._decided, far + 1, 0), line_end)
        return max(far, pem if pem >= 0 else line_end)

    def _release(self, end: int) -> str:
        spans = sorted((*self._waiting, *_spans(self._text, self._decided, end, self._values)))
        pieces, cursor = [], max(self._decided, self._covered)
        for span in spans:
            if span.start >= end:
                break
            if span.start >= self._covered:
                pieces += [self._text[cursor : span.start], placeholder(span.kind)]
            self._covered = cursor = max(self._covered, span.end)
        pieces.append(self._text[cursor:end])
        self._waiting = [span for span in spans if span.start >= end]
        self._forget(end)
        return "".join(pieces)

    def _forget(self, end: int) -> None:
        """Drop the returned text, except the end that decides how a word begins."""
        dropped = max(0, end - _KEEP_BEHIND)
        self._text = self._text[dropped:]
        self._decided = end - dropped
        self._covered = max(0, self._covered - dropped)
        self._waiting = [
            _Span(span.start - dropped, span.negative_end + dropped, span.order, span.kind)
            for span in self._waiting
        ]


def _spans(text: str, start: int, end: int, values: Mapping[str, str]) -> Iterator[_Span]:
    """Yield the secrets whose anchors begin in *start* to *end*, exclusive."""
    for value, kind in values.items():
        offset = text.find(value, start, end + len(value) - 1)
        while offset >= 0:
            yield _Span(offset, -(offset + len(value)), -1, kind)
            offset = text.find(value, offset + 1, end + len(value) - 1)
    for order, form in enumerate(FORMS):
        for first, last in form.spans(text, start, end):
            yield _Span(first, -last, order, form.kind)
