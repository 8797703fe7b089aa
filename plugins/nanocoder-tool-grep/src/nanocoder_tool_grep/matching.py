"""Match the lines of a file: bytes in, lines out.

The search in this process and its workers share it. A worker must start quickly: nothing of
nanocoder is imported here, and nothing slow.
"""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from nanocoder_tool_grep.literals import find_literals, fold_case
from nanocoder_tool_grep.sieve import MIN_OVERLAP, make_odd_sieve, make_sieve

BLOCK_BYTES = 65_536  # ripgrep's; in blocks of another size it would see NUL bytes elsewhere
LONGEST_LINE = 4_000_000  # bytes; the middle of a longer line is not searched
PASSED_BYTES = 1_000_000
MAX_LINE = 500
MIN_NEEDLE = 3
"""A shorter literal is in so many lines that whole blocks are searched in less time."""
# These look at or consume more than one line: a match in a block may be none in a single line.
_LOOKS_AROUND = ("(?", "++", "*+", "?+", "}+", r"\A", r"\Z", r"\z", r"\G", r"\K")
_CROSSES_LINES = ("[^", r"\s", r"\W", r"\D", r"\P", r"\n", r"\r", r"\R", r"\X", r"\H")

Row = tuple[int, str, bool]
"""Number of the line, from 1; its text; whether it matches, or is around one that does."""


class NoRegexError(Exception):
    """The pattern is no regular expression."""


class LateError(Exception):
    """There is no time left."""


class Matcher:
    """A compiled pattern.

    Each line that matches contains one of *needles* (in lower case where *folds*); there are none
    when that is unknown. *in_line* decides for a line. *in_block* returns the position of the first
    possible match in a block, from a position on, or -1. *jumps* says that this position lies in
    the matching line; *picks* says that few enough lines have a needle to look at each of them.
    *sieve* tells quickly whether a line can match. *overlap* is how many bytes at the end of one
    piece are searched again with the next.
    """

    __slots__ = (
        "_next",
        "_odd",
        "folds",
        "in_block",
        "in_line",
        "jumps",
        "needles",
        "overlap",
        "picks",
        "sieve",
    )

    def __init__(
        self,
        needles: Iterable[str],
        in_line: Callable[[str], bool],
        in_block: Callable[[str, int], int],
        *,
        folds: bool = False,
        jumps: bool = True,
        picks: bool = False,
    ) -> None:
        self.needles = tuple(needle.encode() for needle in needles)
        self.in_line = in_line
        self.in_block = in_block
        self.folds = folds
        self.jumps = jumps
        shortest = min(map(len, self.needles), default=0)
        self.picks = picks or shortest >= MIN_NEEDLE
        self.sieve = make_sieve(self.needles, folds=folds)
        self.overlap = max(MIN_OVERLAP, max(map(len, self.needles), default=1) - 1)
        self._odd = make_odd_sieve(self.needles)
        self._next = re.compile(b"|".join(map(re.escape, self.needles)))

    def can_pick(self, data: bytes) -> bool:
        """Tell whether every line of *data* that matches has a needle, and few others have one."""
        if not self.needles or not self.picks:
            return False
        return not (self.folds and self._odd(data, 0, len(data)))

    def next(self, data: bytes, at: int) -> int:
        """Return where the next needle is, -1 without one."""
        if len(self.needles) == 1:
            return data.find(self.needles[0], at)
        hit = self._next.search(data, at)
        return hit.start() if hit else -1


def make_matcher(pattern: str, *, plain: bool, ignore_case: bool, deadline: float) -> Matcher:
    """Compile the pattern; it gives up at *deadline*, on the monotonic clock.

    Raises: NoRegexError.
    """
    if plain and not ignore_case:
        return Matcher(
            [pattern], lambda line: pattern in line, lambda text, at: text.find(pattern, at),
            picks=True,
        )  # fmt: skip
    # Imported late, as it takes 12 ms and ripgrep does without; by name: it has no types.
    regex: Any = import_module("regex")

    source = regex.escape(pattern, literal_spaces=True) if plain else pattern
    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        position = _limit_search(regex.compile(source, flags).search, deadline)
    except (regex.error, OverflowError, RecursionError) as error:
        raise NoRegexError(str(error)) from None
    blind = any(part in source for part in _LOOKS_AROUND)
    needles = (pattern,) if plain else find_literals(source)
    return Matcher(
        fold_case(needles) if ignore_case else needles,
        lambda line: position(line, 0) >= 0,
        (lambda _text, at: at) if blind else position,
        folds=ignore_case,
        jumps=not blind and not any(part in source for part in _CROSSES_LINES),
    )


def _limit_search(find: Callable[..., Any], deadline: float) -> Callable[[str, int], int]:
    """Return a search that gives up at *deadline*: a pattern can take for ever."""
    if deadline == math.inf:
        return lambda text, at: hit.start() if (hit := find(text, at)) else -1

    def position(text: str, at: int) -> int:
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise LateError
        try:
            hit = find(text, at, timeout=remaining_s)
        except TimeoutError:
            raise LateError from None
        return hit.start() if hit else -1

    return position


class Blocks:
    """A file in pieces of whole lines, as ripgrep cuts them.

    *first* is its beginning, BLOCK_BYTES or all of it; *read* returns as many bytes as it is asked
    for from then on, and *rewind* goes back to the beginning. A file with a NUL in *first* is
    binary and has no pieces. A later one ends it (and sets *is_binary*), unless it was *named*.
    """

    def __init__(
        self,
        first: bytes,
        read: Callable[[int], bytes],
        rewind: Callable[[], object],
        *,
        named: bool = False,
    ) -> None:
        self.is_binary = b"\0" in first
        self._first = first
        self._read = read
        self._rewind = rewind
        self._named = named

    def may_match(self, matcher: Matcher) -> bool:
        """Tell whether any line can match, without finding line ends; call it before reading."""
        chunk, before = self._first, b""
        if self.is_binary or matcher.sieve(chunk, 0, len(chunk)):
            return not self.is_binary
        while len(chunk) == BLOCK_BYTES:
            before = chunk[-matcher.overlap :]
            chunk = self._read(BLOCK_BYTES)
            seam = before + chunk[: matcher.overlap]
            if matcher.sieve(chunk, 0, len(chunk)) or matcher.sieve(seam, 0, len(seam)):
                self._rewind()
                self._first = self._read(BLOCK_BYTES)
                return True
            if not self._named and b"\0" in chunk:
                break
        return False

    def __iter__(self) -> Iterator[bytes]:
        chunk, carry = self._first, b""
        read_size = room = BLOCK_BYTES
        while chunk and not self.is_binary:
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield carry + chunk[:cut]
                carry = chunk[cut:]
            elif len(carry) < LONGEST_LINE:
                carry += chunk
            if len(chunk) < read_size:
                break
            if len(carry) >= room and room < LONGEST_LINE:
                room *= 2
            read_size = room - len(carry) if len(carry) < room else PASSED_BYTES
            chunk = self._read(read_size)
            self.is_binary = not self._named and b"\0" in chunk
        if carry and not self.is_binary:
            yield carry


def find_rows(blocks: Blocks, matcher: Matcher, output: str, context: int) -> Iterator[Row]:
    """Yield the rows for *output*: with "files" and "count" a single one."""
    if not blocks.may_match(matcher):
        return
    if output == "content" and context:
        yield from _with_context(blocks, matcher, context)
        return
    count = 0
    number = 1
    for data in blocks:
        for at, line in _matches(data, number, matcher):
            count += 1
            if output == "content":
                yield at, decode_line(line), True
            elif output == "files":
                yield 1, "", True
                return
        number += data.count(b"\n")
    if output == "count" and count and not blocks.is_binary:
        yield count, "", True


def decode_line(line: bytes) -> str:
    r"""Return the beginning of a line as text, without "\r" at its end."""
    return line[: 4 * MAX_LINE].rstrip(b"\r").decode(errors="replace")[:MAX_LINE]


def _matches(data: bytes, number: int, matcher: Matcher) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each line that matches; the first of *data* is *number*."""
    if not matcher.sieve(data, 0, len(data)):
        return
    if matcher.can_pick(data):
        yield from _match_needle_lines(data, number, matcher)
        return
    block = _text(data)
    at = matcher.in_block(block, 0)
    if at >= 0 and matcher.jumps:
        yield from _match_by_jumps(block, at, number, matcher)
    elif at >= 0:
        for count, line in enumerate(_lines(block), number):
            if matcher.in_line(line):
                yield count, line.encode(errors="surrogateescape")


def _match_needle_lines(data: bytes, number: int, matcher: Matcher) -> Iterator[tuple[int, bytes]]:
    """Match only the lines that have a needle."""
    where = data.lower() if matcher.folds else data
    counted = 0
    at = matcher.next(where, 0)
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[start:end].removesuffix(b"\r")
        if matcher.in_line(line.decode(errors="surrogateescape")):
            number += data.count(b"\n", counted, start)
            counted = start
            yield number, line
        at = matcher.next(where, end + 1) if end < len(data) else -1


def _match_by_jumps(
    block: str, at: int, number: int, matcher: Matcher
) -> Iterator[tuple[int, bytes]]:
    """Match by jumping from one hit to the next, without looking at the lines between."""
    counted = 0
    while at >= 0:
        start = block.rfind("\n", 0, at) + 1
        if start >= len(block):
            return
        end = block.find("\n", at)
        end = len(block) if end < 0 else end
        number += block.count("\n", counted, start)
        counted = start
        line = block[start:end]
        if matcher.in_line(line):
            yield number, line.encode(errors="surrogateescape")
        at = matcher.in_block(block, end + 1) if end < len(block) else -1


def _with_context(blocks: Blocks, matcher: Matcher, context: int) -> Iterator[Row]:
    """Yield matches and the lines around them, holding at most *context* lines."""
    before: deque[Row] = deque(maxlen=context)
    after, number = 0, 1
    for data in blocks:
        hits = {at for at, _ in _matches(data, number, matcher)}
        past = number + data.count(b"\n")
        if hits or after:
            lines = data.split(b"\n")
            lines = lines if lines[-1] else lines[:-1]
        else:
            lines = data.removesuffix(b"\n").rsplit(b"\n", context)[-context:]
            number = past + (not data.endswith(b"\n")) - len(lines)
        for at, line in enumerate(lines, number):
            row = (at, decode_line(line), at in hits)
            if at in hits:
                yield from before
                before.clear()
                yield row
                after = context
            elif after:
                yield row
                after -= 1
            else:
                before.append(row)
        number = past


def _text(data: bytes) -> str:
    text = data.decode(errors="surrogateescape")
    return text.replace("\r\n", "\n").removesuffix("\r") if "\r" in text else text


def _lines(block: str) -> list[str]:
    lines = block.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
