"""The text of the lines that a search found, read from the files themselves.

Ripgrep only reports their locations: the text is read through the workspace, in the encoding used
by the tools that read and edit.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Final, Literal

from attrs import evolve, frozen
from nanocoder import ToolContext, WorkspaceError
from nanocoder_kit_files.text import is_binary

from nanocoder_tool_grep.query import Line

MAX_LINE: Final = 500
"""The most characters of a line that are shown."""
BEFORE: Final = 150
"""Characters shown before a match far inside of a long line."""
SAMPLE_BYTES: Final = 65_536
_LONE_RETURN: Final = re.compile(rb"\r[^\n]")
_PIECE_BYTES: Final = 4 * MAX_LINE
CUT: Final = "\u2026"

Kind = Literal["plain", "odd", "binary", "gone"]


def kind_of(ctx: ToolContext, path: str) -> Kind:
    r"""Return the kind of a file by its beginning: "plain", "odd", "binary", or "gone".

    An "odd" file is not UTF-8, or has a "\r" inside of a line. A "gone" one cannot be read.
    """
    try:
        with ctx.workspace.open(path) as file:
            sample = file.read(SAMPLE_BYTES)
    except (WorkspaceError, OSError):
        return "gone"
    if is_binary(sample):
        return "binary"
    return "plain" if _is_utf8(sample) and not _LONE_RETURN.search(sample) else "odd"


def with_texts(
    ctx: ToolContext, lines: Iterable[Line], copies: Mapping[str, Path]
) -> Iterator[Line]:
    """Yield *lines* with their texts; those of a file that can be read no more are dropped.

    Files that are no plain UTF-8 may have *copies* that are.
    """
    for path, group in groupby(lines, lambda line: line.path):
        copy = copies.get(path)
        try:
            with copy.open("rb") if copy else ctx.workspace.open(path) as file:
                source = _source(file)
                for line in group:
                    yield evolve(line, text=excerpt(source, line.offset, line.column))
        except (WorkspaceError, OSError):
            continue


@frozen
class Source:
    """A *file* in UTF-8 to read lines from; offsets are relative to *start*."""

    file: BinaryIO
    start: int

    def line(self, offset: int, size: int) -> tuple[bytes, bool]:
        r"""Return the rest of the line at *offset*, at most *size* bytes, and if it ends there."""
        self.file.seek(self.start + offset)
        data = self.file.read(size)
        line, end, _ = data.partition(b"\n")
        return line.removesuffix(b"\r"), bool(end) or len(data) < size


def excerpt(source: Source, offset: int, column: int) -> str:
    """Return the line that begins at *offset*, at most MAX_LINE characters around its *column*."""
    line, is_whole = source.line(offset, _PIECE_BYTES)
    text = _text(line)
    if is_whole and len(text) <= MAX_LINE:
        return text
    if column < len(line) and len(_text(line[:column])) < MAX_LINE - BEFORE:
        return text[:MAX_LINE] + CUT
    # Far inside, so the piece may begin within a character.
    start = max(0, column - 4 * BEFORE)
    line, is_whole = source.line(offset + start, _PIECE_BYTES + 4 * BEFORE)
    head = _text(line[: column - start]).lstrip("\ufffd")[-BEFORE:]
    tail = _text(line[column - start :])
    room = MAX_LINE - len(head)
    return CUT + head + tail[:room] + ("" if is_whole and len(tail) <= room else CUT)


def _text(line: bytes) -> str:
    return line.decode(errors="replace")


def _is_utf8(sample: bytes) -> bool:
    # The last character may be cut off.
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return b"\0" not in sample


def _source(file: BinaryIO) -> Source:
    """Return *file* as a source whose offsets begin after a UTF-8 BOM, which ripgrep drops."""
    size = len(codecs.BOM_UTF8)
    return Source(file, size if file.read(size) == codecs.BOM_UTF8 else 0)
