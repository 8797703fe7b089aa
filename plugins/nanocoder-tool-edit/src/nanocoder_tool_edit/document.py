r"""Edit a text file as text with "\n" line ends, and preserve every other byte."""

from collections.abc import Sequence

from attrs import evolve, frozen
from nanocoder_kit_files.text import TextFile, encode

MAX_PIECES = 64
SINGLE_BYTE = frozenset({"cp1252", "latin-1"})


@frozen
class Span:
    """Replace the characters from *start* to *end* (not included) by *new*."""

    start: int
    end: int
    new: str


def find_exact(text: str, old: str, new: str) -> list[Span]:
    """Return all exact matches of *old*, including overlapping ones."""
    spans = []
    position = text.find(old)
    while position >= 0:
        spans.append(Span(position, position + len(old), new))
        position = text.find(old, position + 1)
    return spans


def replace_spans(text: str, spans: Sequence[Span]) -> str:
    """Return *text* with *spans* replaced; they are in order and do not overlap."""
    pieces = []
    position = 0
    for span in spans:
        pieces += [text[position : span.start], span.new]
        position = span.end
    return "".join([*pieces, text[position:]])


def tidy(text: str, span: Span, old: str) -> Span:
    """Return *span*, where *old* was found in *text*, adjusted for white space.

    A deleted line leaves no empty one, and a new text with the indentation of its line does not
    get it twice.
    """
    start = text.rfind("\n", 0, span.start) + 1
    before = text[start : span.start]
    if before.strip(" \t") or not old.strip():
        return span
    if (
        not span.new
        and text[span.end - 1 : span.end] != "\n"
        and text[span.end : span.end + 1] in {"", "\n"}
    ):
        is_last = span.end == len(text)
        return Span(max(0, start - is_last), span.end + (not is_last), "")
    changes_words = span.new.split() != text[span.start : span.end].split()
    if before and span.new.startswith(before) and not old[:1].isspace() and changes_words:
        return Span(start, span.end, span.new)
    return span


def combine_spans(first: Sequence[Span], text: str, then: Sequence[Span]) -> list[Span]:
    """Combine *first*, which produced *text*, and *then* into spans that replace all at once.

    Spans that overlap or touch become one.
    """
    steps: list[tuple[int, int, int, Span | None]] = []
    shift = 0
    for span in first:
        grown = len(span.new) - (span.end - span.start)
        start = span.start + shift
        steps.append((start, start + len(span.new), grown, None))
        shift += grown
    steps += [(span.start, span.end, 0, span) for span in then]
    result: list[Span] = []
    shift = at = 0
    steps.sort(key=lambda step: step[:2])
    while at < len(steps):
        low, high = steps[at][:2]
        end = at
        while end < len(steps) and steps[end][0] <= high:
            high = max(high, steps[end][1])
            end += 1
        group = steps[at:end]
        inner = [Span(s.start - low, s.end - low, s.new) for *_, s in group if s is not None]
        before = shift
        shift += sum(grown for _, _, grown, _ in group)
        result.append(Span(low - before, high - shift, replace_spans(text[low:high], inner)))
        at = end
    return result


def encode_edits(file: TextFile, spans: Sequence[Span]) -> list[bytes | memoryview]:
    """Return the bytes of *file* with *spans* of its text replaced; all other bytes stay.

    The result is a list of pieces, most of them views of the old bytes.

    Raises: WorkspaceError (invalid_arguments) for a character that the encoding does not have.
    """
    # "raw" makes `encode` write the new text without changing its line ends.
    plain = evolve(file, newline="raw", bom=b"")
    data = memoryview(file.data)
    pieces: list[bytes | memoryview] = []
    position = char = line = 0
    byte = len(file.bom)
    for span in spans:
        edges = []
        for edge in (span.start, span.end):
            distance = _measure(file, char, edge, line)
            byte += distance.size
            line += distance.lines
            char = edge
            edges.append((byte, line))
        (start, first), (end, last) = edges
        pieces += [
            data[position:start],
            encode(_restore_newlines(file, span.new, first, last), plain),
        ]
        position = end
    pieces.append(data[position:])
    # Each piece is a write of its own: many small ones cost more than one copy of everything.
    return pieces if len(pieces) <= MAX_PIECES else [b"".join(pieces)]


def unify_newlines(file: TextFile, text: str) -> str:
    r"""Return *text* with the line ends that the text of *file* has."""
    return text if file.newline == "raw" else text.replace("\r\n", "\n")


def line_of(text: str, position: int) -> int:
    """Return the number, from 1, of the line with *position*."""
    return text.count("\n", 0, position) + 1


@frozen
class _Distance:
    size: int
    lines: int


def _measure(file: TextFile, start: int, end: int, line: int) -> _Distance:
    r"""Return the distance in bytes and lines of *file* between two positions in its text.

    Lines are counted only where a line end can have a "\r"; *line* is the one of *start*.
    """
    if file.encoding in SINGLE_BYTE or (file.encoding == "utf-8" and file.text.isascii()):
        size = end - start
    else:
        size = len(file.text[start:end].encode(file.encoding))
    if file.newline not in {"\r\n", "mixed"}:
        return _Distance(size, 0)
    lines = file.text.count("\n", start, end)
    returns = lines if file.newline == "\r\n" else file.endings.count("r", line, line + lines)
    return _Distance(size + returns * len("\r".encode(file.encoding)), lines)


def _restore_newlines(file: TextFile, new: str, first: int, last: int) -> str:
    """Return *new* with the line ends of the replaced lines, that of the last one for the rest."""
    if file.newline == "raw":
        return new
    if file.newline != "mixed":
        return new.replace("\n", file.newline)
    lines = new.split("\n")
    ends = file.endings[first:last] or file.endings[first : first + 1] or file.endings[-1]
    ends += ends[-1] * len(lines)
    return (
        "".join(
            line + ("\r\n" if end == "r" else "\n")
            for line, end in zip(lines[:-1], ends, strict=False)
        )
        + lines[-1]
    )
