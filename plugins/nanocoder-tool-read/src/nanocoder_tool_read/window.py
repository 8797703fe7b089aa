"""A window of lines, from a text or from a file of any size."""

import codecs
import os
from collections.abc import Iterator
from typing import BinaryIO

from attrs import frozen

CHUNK_BYTES = 262_144
LINE_BYTES_PER_CHARACTER = 4  # UTF-8's most
MAX_COUNTED_BYTES = 64_000_000  # 30 ms; the lines of a larger file are not counted to its end


@frozen
class Window:
    """Some lines of a file, from number *first*, without their newlines.

    *total* is how many lines the file has, None if they were not counted. *more* says that lines
    follow, *clipped* how many are shown in part, *undecodable* that some bytes are not text.
    """

    lines: tuple[str, ...]
    first: int
    total: int | None
    more: bool
    clipped: int = 0
    undecodable: bool = False

    @property
    def last(self) -> int:
        """The number of the last line; one less than *first* when there is none."""
        return self.first + len(self.lines) - 1


def is_binary(head: bytes) -> bool:
    """Tell from the first bytes of a file whether it cannot be text."""
    has_mark = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return b"\0" in head and not has_mark and not head.startswith(codecs.BOM_UTF32_BE)


def window_of_text(text: str, first: int, limit: int, max_line: int) -> Window:
    """Return the window of *text*, whose lines end in a newline character."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    window = lines[first - 1 : first - 1 + limit]
    return Window(
        tuple(line[:max_line] for line in window),
        first,
        len(lines),
        more=first - 1 + len(window) < len(lines),
        clipped=sum(len(line) > max_line for line in window),
    )


def window_of_file(file: BinaryIO, first: int, limit: int, max_line: int) -> Window:
    """Return the window of a UTF-8 file, holding no more of it than the window and one piece."""
    if file.read(3) != codecs.BOM_UTF8:
        file.seek(0)
    before = _skip_lines(file, first - 1)
    lines: list[str] = []
    clipped = 0
    undecodable = False
    while before == first - 1 and len(lines) < limit:
        line, is_clipped = _line(file, max_line)
        if line is None:
            break
        text = _decode(line, max_line)
        undecodable |= "\ufffd" in text
        clipped += is_clipped or len(text) > max_line
        lines.append(text[:max_line])
    rest, complete = _count_lines(file)
    return Window(
        tuple(lines),
        first,
        before + len(lines) + rest if complete else None,
        more=rest > 0,
        clipped=clipped,
        undecodable=undecodable,
    )


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _skip_lines(file: BinaryIO, count: int) -> int:
    """Move behind the first *count* lines; return how many there were, at most *count*."""
    passed = 0
    last = b"\n"
    if not count:
        return 0
    for chunk in _chunks(file):
        last = chunk
        count_here = chunk.count(b"\n")
        if passed + count_here < count:
            passed += count_here
            continue
        at = -1
        for _ in range(count - passed):
            at = chunk.index(b"\n", at + 1)
        file.seek(at + 1 - len(chunk), os.SEEK_CUR)
        return count
    # A last line without a newline is a line, too.
    return passed + (not last.endswith(b"\n"))


def _line(file: BinaryIO, max_line: int) -> tuple[bytes | None, bool]:
    """Return the next line without its end, and whether it is longer than that."""
    room = max_line * LINE_BYTES_PER_CHARACTER + 2
    line = file.readline(room)
    if not line:
        return None, False
    if line.endswith(b"\n"):
        return line[:-1].removesuffix(b"\r"), False
    is_clipped = False
    while len(line) == room and (more := file.readline(CHUNK_BYTES)):
        is_clipped = is_clipped or more not in {b"\n", b"\r\n"}
        if more.endswith(b"\n"):
            break
    return line, is_clipped


def _decode(line: bytes, max_line: int) -> str:
    """Decode *line*, whose end may have been cut inside a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    # A cut line may end inside a character, which is then no error.
    is_cut = len(line) > max_line * LINE_BYTES_PER_CHARACTER
    return decoder.decode(line, final=not is_cut)


def _count_lines(file: BinaryIO) -> tuple[int, bool]:
    """Count the remaining lines; also tell whether the end was reached."""
    count = size = 0
    last = b"\n"
    for chunk in _chunks(file):
        count += chunk.count(b"\n")
        size += len(chunk)
        last = chunk
        if size > MAX_COUNTED_BYTES:
            return count + 1, False
    return count + (not last.endswith(b"\n")), True
