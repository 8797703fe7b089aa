"""A window of lines, from a text or from a file of any size."""

import codecs
import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from attrs import evolve, frozen
from nanocoder_kit_files.text import guess_encoding

CHUNK_BYTES = 262_144
LINE_BYTES_PER_CHARACTER = 4  # UTF-8's most
MAX_CHARS = 48_000  # of a window; the middle of a longer result would be left out
MAX_COUNTED_BYTES = 64_000_000  # 30 ms; the lines of a larger file are not counted to its end


@frozen
class Window:
    """Some lines of a file, from number *first*, without their newlines.

    *total* is the number of lines of the file, or None if they were not counted. *more* means that
    lines follow, *clipped* are lines shown in part, *encoding* is that of the file.
    """

    lines: tuple[str, ...]
    first: int
    total: int | None
    more: bool
    clipped: tuple[int, ...] = ()
    encoding: str = "utf-8"

    @property
    def last(self) -> int:
        """The number of the last line, or *first* - 1 without lines."""
        return self.first + len(self.lines) - 1

    @property
    def read_lines(self) -> range:
        """The numbers of the lines that are shown, up to the first that is cut."""
        return range(self.first, min((*self.clipped, self.last + 1)))

    def page(self) -> "Window":
        """Return its first lines up to the limit of a result."""
        if sum(map(len, self.lines)) + len(self.lines) * len(f"{self.last}\t\n") <= MAX_CHARS:
            return self
        chars = count = 0
        for line in self.lines:
            chars += len(line) + len(f"{self.first + count}\t\n")
            if count and chars > MAX_CHARS:
                break
            count += 1
        clipped = tuple(number for number in self.clipped if number < self.first + count)
        more = self.more or count < len(self.lines)
        return evolve(self, lines=self.lines[:count], clipped=clipped, more=more)


def is_binary(head: bytes) -> bool:
    """Return True if the first bytes of a file cannot be text."""
    return b"\0" in head and not has_mark(head)


def has_mark(head: bytes) -> bool:
    """Return True if the first bytes of a file are the byte order mark of UTF-16 or UTF-32."""
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))


def window_of_text(
    text: str, first: int, limit: int, max_line: int, *, encoding: str = "utf-8"
) -> Window:
    """Return the window of *text*, whose lines end in a newline character."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    window = lines[first - 1 : first - 1 + limit]
    more = first - 1 + len(window) < len(lines)
    return _cut(Window(tuple(window), first, len(lines), more, encoding=encoding), max_line)


def window_of_file(file: BinaryIO, first: int, limit: int, max_line: int) -> Window:
    """Return the window of a file without NUL, holding no more of it than the window and a piece.

    Without UTF-8 it is read in the encoding that it most likely has.
    """
    if file.read(3) != codecs.BOM_UTF8:
        file.seek(0)
    before = _skip_lines(file, first - 1)
    raw: list[bytes] = []
    while before == first - 1 and len(raw) < limit:
        line = _line(file, max_line)
        if line is None:
            break
        raw.append(line)
    rest, complete = _count_lines(file)
    total = before + len(raw) + rest if complete else None
    lines, encoding = _decoded(raw, max_line)
    return _cut(Window(lines, first, total, rest > 0, encoding=encoding), max_line)


def _cut(window: Window, max_line: int) -> Window:
    """Cut long lines."""
    if max(map(len, window.lines), default=0) <= max_line:
        return window
    numbered = enumerate(window.lines, window.first)
    clipped = tuple(number for number, line in numbered if len(line) > max_line)
    return evolve(window, lines=tuple(line[:max_line] for line in window.lines), clipped=clipped)


def _decoded(raw: Sequence[bytes], max_line: int) -> tuple[tuple[str, ...], str]:
    encoding = "utf-8"
    for _ in range(2):
        lines = tuple(_decode(line, max_line, encoding) for line in raw)
        if encoding != "utf-8" or not any("\ufffd" in line for line in lines):
            break
        encoding = guess_encoding(b"\n".join(raw))
    return lines, encoding


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _skip_lines(file: BinaryIO, count: int) -> int:
    """Skip the first *count* lines; return the number of skipped lines."""
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


def _line(file: BinaryIO, max_line: int) -> bytes | None:
    """Return the next line without its end, hardly more of it than can be shown."""
    room = max_line * LINE_BYTES_PER_CHARACTER + LINE_BYTES_PER_CHARACTER
    line = file.readline(room)
    if not line:
        return None
    if line.endswith(b"\n"):
        return line[:-1].removesuffix(b"\r")
    while len(line) == room and (more := file.readline(CHUNK_BYTES)):
        if more.endswith(b"\n"):
            break
    return line


def _decode(line: bytes, max_line: int, encoding: str) -> str:
    """Decode *line*, whose end may have been cut inside a character."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
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
