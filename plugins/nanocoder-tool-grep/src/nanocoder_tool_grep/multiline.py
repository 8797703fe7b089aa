"""Matches over more than one line: a file is searched as a whole."""

import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from nanocoder_tool_grep.matching import BLOCK_BYTES, LateError, NoRegexError, Row, decode_line

MAX_FILE_BYTES = 50_000_000
"""A larger file is not searched across lines: it would be held as bytes, as text and as lines."""

Span = tuple[int, int]
"""The start and the end of a match."""


class AcrossMatcher:
    """A pattern whose matches may have line breaks in them; it gives up at *deadline*.

    Raises: NoRegexError.
    """

    def __init__(self, pattern: str, *, plain: bool, ignore_case: bool, deadline: float) -> None:
        regex: Any = import_module("regex")  # imported by name: it has no type information
        source = regex.escape(pattern, literal_spaces=True) if plain else pattern
        flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
        try:
            self._search = regex.compile(source, flags).search
        except (regex.error, OverflowError, RecursionError) as error:
            raise NoRegexError(str(error)) from None
        self._deadline = deadline

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where each match is; raises LateError."""
        position = 0
        while position < len(text):
            remaining_s = self._deadline - time.monotonic()
            if remaining_s <= 0:
                raise LateError
            try:
                hit = self._search(text, position, timeout=remaining_s)
            except TimeoutError:
                raise LateError from None
            # Behind the last line break there is no line.
            if not hit or (hit.start() == len(text) and text.endswith("\n")):
                return
            yield hit.span()
            # An empty match would be found for ever at the same place.
            position = max(hit.end(), hit.start() + 1)


def find_rows_across(
    data: bytes, matcher: AcrossMatcher, output: str, context: int
) -> Iterator[Row]:
    """Yield the lines of *data* that have a part of a match, as `find_rows` does.

    The count is one of matches. A binary file has none; a later NUL ends the file.
    """
    if b"\0" in data[:BLOCK_BYTES]:
        return
    text = data.partition(b"\0")[0].decode(errors="surrogateescape").replace("\r\n", "\n")
    spans = matcher.spans(text)
    if output == "files":
        if next(spans, None) is not None:
            yield 1, "", True
        return
    matches = list(spans)
    if output == "count":
        if matches:
            yield len(matches), "", True
        return
    yield from _rows(text, _hits(text, matches), context)


def _hits(text: str, spans: list[Span]) -> list[int]:
    """Return the numbers, from 0, of the lines that have a part of a match."""
    hits: dict[int, None] = {}
    number = counted = 0
    for start, end in spans:
        number += text.count("\n", counted, start)
        counted = start
        last = number + text.count("\n", start, max(start, end - 1))
        hits.update(dict.fromkeys(range(number, last + 1)))
    return list(hits)


def _rows(text: str, hits: list[int], context: int) -> Iterator[Row]:
    lines = text.removesuffix("\n").split("\n")
    matching = set(hits)
    numbers = {
        number
        for hit in hits
        for number in range(max(0, hit - context), min(len(lines), hit + context + 1))
    }
    for number in sorted(numbers):
        line = lines[number].encode(errors="surrogateescape")
        yield number + 1, decode_line(line), number in matching
