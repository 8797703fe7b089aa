"""The search in Python, for machines without ripgrep and patterns that it does not know."""

import re
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from typing import Any, BinaryIO

from attrs import frozen
from nanocoder import ToolContext, WorkspaceError

from nanocoder_tool_grep.query import (
    MAX_LINE,
    SNIFFED_BYTES,
    Line,
    Query,
    Stopped,
    invalid,
)

FIRST_BYTES = 65_536  # most files are smaller, and a large buffer costs more than reading them
BLOCK_BYTES = 1_000_000
LONGEST_LINE = 4_000_000  # bytes; of a longer line only the rest after this is not looked at
# These see or eat more than one line, so that whole blocks cannot tell what single lines would.
_LOOKS_AROUND = ("(?", "++", "*+", "?+", "}+", r"\A", r"\Z", r"\z", r"\G", r"\K")
_CROSSES_LINES = ("[^", r"\s", r"\W", r"\D", r"\P", r"\n", r"\r", r"\R", r"\X", r"\H")

_OPTIONAL = re.compile(r"\\.[*+?]*|[^\\][*?]")
_CODED = re.compile(r"\\[^\WwdsbWDSB]")  # such as \x41, which stands for another letter
_SPECIAL = re.compile(r"[.^$*+?\\}\])]")


@frozen
class Matcher:
    """A pattern, made ready.

    *needle* is in every line that matches. *in_line* decides. *in_block* tells whether any line of
    a block can match, from a position on: it returns where, or -1. *jumps* says that it also tells
    in which line.
    """

    needle: bytes
    in_line: Callable[[str], bool]
    in_block: Callable[[str, int], int]
    jumps: bool = True


def make_matcher(query: Query, deadline: float) -> Matcher:
    """Compile the pattern; raises ToolError when it is none."""
    if query.is_plain and not query.ignore_case:
        pattern = query.pattern
        return Matcher(
            pattern.encode(), lambda line: pattern in line, lambda text, at: text.find(pattern, at)
        )
    # 12 ms, and ripgrep does without. By its name, because it comes without types.
    regex: Any = import_module("regex")

    source = regex.escape(query.pattern, literal_spaces=True) if query.is_plain else query.pattern
    flags = regex.MULTILINE | (regex.IGNORECASE if query.ignore_case else 0)
    try:
        position = _limited(regex.compile(source, flags).search, deadline)
    except (regex.error, OverflowError, RecursionError) as error:
        raise invalid(
            f"{query.pattern!r} is no regular expression: {error}; with fixed_string=true it"
            " would be taken letter by letter"
        ) from None
    blind = any(part in source for part in _LOOKS_AROUND)
    return Matcher(
        b"" if query.ignore_case else needle(source).encode(),
        lambda line: position(line, 0) >= 0,
        (lambda _text, at: at) if blind else position,
        jumps=not blind and not any(part in source for part in _CROSSES_LINES),
    )


def needle(pattern: str) -> str:
    """Return the longest run of letters that every match of *pattern* has; "" when unsure."""
    if any(letter in pattern for letter in "|([{") or _CODED.search(pattern):
        return ""
    # A star or question mark makes the letter before it optional; a backslash changes what follows.
    runs = _OPTIONAL.sub("\0", pattern).split("\0")
    return max((part for run in runs for part in _SPECIAL.split(run)), key=len)


def _limited(find: Callable[..., Any], deadline: float) -> Callable[[str, int], int]:
    """Return a search that gives up at *deadline*: a pattern can take as long as it likes."""

    def position(text: str, at: int) -> int:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Stopped
        try:
            found = find(text, at, timeout=left)
        except TimeoutError:
            raise Stopped from None
        return found.start() if found else -1

    return position


def search(
    ctx: ToolContext, query: Query, allowed: Callable[[str], bool], *, limit_s: float
) -> Generator[Line]:
    """Yield what is found, by path.

    Raises: ToolError for a pattern that is none, Stopped after *limit_s* seconds, Cancelled.
    """
    deadline = time.monotonic() + limit_s
    matcher = make_matcher(query, deadline)
    for path in _paths(ctx, query, allowed):
        ctx.cancelled.check()
        if time.monotonic() > deadline:
            raise Stopped
        try:
            file = ctx.workspace.open(path)
        except WorkspaceError:  # gone, or not to be read: as if it were not there
            continue
        with file:
            yield from _found(file, path, matcher, query)


def _paths(ctx: ToolContext, query: Query, allowed: Callable[[str], bool]) -> Iterator[str]:
    if query.is_file:
        if allowed(query.path):
            yield query.path
        return
    for entry in ctx.workspace.walk(query.path, details=False):
        if entry.kind == "file" and allowed(entry.path):
            yield entry.path


def _found(file: BinaryIO, path: str, matcher: Matcher, query: Query) -> Iterator[Line]:
    if query.output == "content" and query.context:
        yield from _with_context(file, path, matcher, query.context)
        return
    count = 0
    for number, text in _matches(file, matcher):
        count += 1
        if query.output == "content":
            yield Line(path, number, _shown(text))
        elif query.output == "files":
            yield Line(path, 1)
            return
    if count and query.output == "count":
        yield Line(path, count)


def _matches(file: BinaryIO, matcher: Matcher) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that matches."""
    passed = 0
    before = b""
    for data in _blocks(file):
        passed += before.count(b"\n")
        before = data
        if matcher.needle not in data:
            continue
        block = _text(data)
        at = matcher.in_block(block, 0)
        if at >= 0 and matcher.jumps:
            yield from _jumps(block, at, passed + 1, matcher)
        elif at >= 0:
            for number, line in enumerate(_lines(block), passed + 1):
                if matcher.in_line(line):
                    yield number, line


def _jumps(block: str, at: int, number: int, matcher: Matcher) -> Iterator[tuple[int, str]]:
    """Go from one match to the next, without looking at the lines between."""
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
            yield number, line
        at = matcher.in_block(block, end + 1) if end < len(block) else -1


def _with_context(file: BinaryIO, path: str, matcher: Matcher, context: int) -> Iterator[Line]:
    """Yield matches and the lines around them, holding as many lines as *context* asks for."""
    before: deque[Line] = deque(maxlen=context)
    after = passed = 0
    for data in _blocks(file):
        block = _text(data)
        can_match = matcher.needle in data and matcher.in_block(block, 0) >= 0
        lines = _lines(block)
        first = 0 if can_match or after else max(0, len(lines) - context)
        for number, text in enumerate(lines[first:], passed + first + 1):
            if can_match and matcher.in_line(text):
                yield from before
                before.clear()
                yield Line(path, number, _shown(text))
                after = context
            elif after:
                yield Line(path, number, _shown(text), is_match=False)
                after -= 1
            else:
                before.append(Line(path, number, _shown(text), is_match=False))
        passed += block.count("\n")


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content in pieces of whole lines; nothing of a binary file."""
    wanted = FIRST_BYTES
    chunk = file.read(wanted)
    if b"\0" in chunk[:SNIFFED_BYTES]:
        return
    carry = b""
    while len(chunk) == wanted:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield carry + chunk[:cut]
            carry = chunk[cut:]
        elif len(carry) < LONGEST_LINE:
            carry += chunk
        wanted = BLOCK_BYTES
        chunk = file.read(wanted)
    if carry or chunk:
        yield carry + chunk


def _text(data: bytes) -> str:
    text = data.decode(errors="surrogateescape")
    return text.replace("\r\n", "\n") if "\r" in text else text


def _lines(block: str) -> list[str]:
    lines = block.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _shown(line: str) -> str:
    clipped = line[:MAX_LINE]
    if clipped.isascii():
        return clipped
    return clipped.encode(errors="surrogateescape").decode(errors="replace")[:MAX_LINE]
