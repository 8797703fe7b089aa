r"""A text file that is edited with "\n" at its line ends, and keeps every other byte as it was."""

from collections.abc import Sequence

from attrs import frozen
from nanocoder import TextFile, Workspace


@frozen
class Span:
    """Replace the characters from *start* to *end* (not included) by *new*."""

    start: int
    end: int
    new: str


def edited_text(text: str, spans: Sequence[Span]) -> str:
    """Return *text* with *spans* replaced; they are in order and do not overlap."""
    pieces = []
    position = 0
    for span in spans:
        pieces += [text[position : span.start], span.new]
        position = span.end
    return "".join([*pieces, text[position:]])


def edited_bytes(workspace: Workspace, file: TextFile, spans: Sequence[Span], after: str) -> bytes:
    """Return the bytes of *file* with *spans* of its text replaced; all others stay as they are.

    *after* is the text with the spans replaced.
    """
    from attrs import evolve

    if file.newline in {"\n", "raw"}:
        raw = after
    else:
        raw = edited_text(_raw_text(file), _raw_spans(file, spans))
    # "raw" lets the workspace add encoding and mark, and leave the line ends alone.
    return workspace.encode(raw, evolve(file, newline="raw"))


def without_returns(file: TextFile, text: str) -> str:
    r"""Return *text* with the line ends that the text of *file* has."""
    return text if file.newline == "raw" else text.replace("\r\n", "\n")


def line_of(text: str, position: int) -> int:
    """Return the number, from 1, of the line that holds *position*."""
    return text.count("\n", 0, position) + 1


def _raw_text(file: TextFile) -> str:
    if file.newline == "mixed":
        lines = file.text.split("\n")
        ends = ["\r\n" if end == "r" else "\n" for end in file.endings]
        return "".join(line + end for line, end in zip(lines, ends, strict=False)) + lines[-1]
    return file.text.replace("\n", file.newline)


def _raw_spans(file: TextFile, spans: Sequence[Span]) -> list[Span]:
    result = []
    position = line = 0
    returns = 0  # how many "\r" stand before *position* and not in the text
    for span in spans:
        for edge in (span.start, span.end):
            passed = file.text.count("\n", position, edge)
            returns += _returns(file, line, line + passed)
            position, line = edge, line + passed
            if edge == span.start:
                start, first = edge + returns, line
        result.append(Span(start, span.end + returns, _raw_new(file, span.new, first, line)))
    return result


def _returns(file: TextFile, first: int, last: int) -> int:
    if file.newline == "\r\n":
        return last - first
    return file.endings.count("r", first, last)


def _raw_new(file: TextFile, new: str, first: int, last: int) -> str:
    """Give *new* the line ends of what it replaces, and of the last of these where it has more."""
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
