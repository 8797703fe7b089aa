"""The parts of a text that an edit changes, before and after, without a copy of all of it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import frozen
from nanocoder_kit_files.diff import Part

from nanocoder_tool_edit.document import Span, replace_spans

CONTEXT_LINES = 3
MAX_PARTS = 200  # a diff of more parts is one of the whole stretch that they lie in


@frozen
class Region:
    """The changed lines *first* to *last* of the new text; *start* is a position in its part."""

    first: int
    last: int
    start: int


@frozen
class View:
    """Some lines before and after an edit, with those around them, and the changes in them."""

    part: Part
    regions: tuple[Region, ...]


def views(text: str, spans: Sequence[Span]) -> list[View]:
    """Return the changed parts of *text* when *spans* are replaced, in order."""
    stretches = list(_stretches(text, spans))
    if len(stretches) > MAX_PARTS:
        stretches = [(stretches[0][0], stretches[-1][1], list(spans))]
    result = []
    counted, line, grown = 0, 1, 0
    for low, high, inside in stretches:
        line += text.count("\n", counted, low)
        counted = low
        old = text[low:high]
        here = [Span(span.start - low, span.end - low, span.new) for span in inside]
        part = Part(old, replace_spans(old, here), line, line + grown)
        result.append(View(part, _regions(part, here)))
        grown += part.new.count("\n") - part.old.count("\n")
    return result


def _regions(part: Part, spans: Sequence[Span]) -> tuple[Region, ...]:
    regions = []
    shift = position = 0
    line = part.new_line
    for span in spans:
        start = span.start + shift
        line += part.new.count("\n", position, start)
        position = start
        inside = span.new.removesuffix("\n").count("\n")
        regions.append(Region(line, line + inside, start))
        shift += len(span.new) - (span.end - span.start)
    return tuple(regions)


def _stretches(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Yield the range of each change with its context, adjacent ones merged."""
    low, high, inside = _before(text, spans[0].start), _after(text, spans[0].end), [spans[0]]
    for _, span in pairwise(spans):
        start = _before(text, span.start)
        if start > high:
            yield low, high, inside
            low, inside = start, []
        high = _after(text, span.end)
        inside.append(span)
    yield low, high, inside


def _before(text: str, position: int) -> int:
    """Return the offset of the line that is CONTEXT_LINES before that of *position*."""
    for _ in range(CONTEXT_LINES + 1):
        position = text.rfind("\n", 0, position)
        if position < 0:
            return 0
    return position + 1


def _after(text: str, position: int) -> int:
    """Return the end of the context behind *position*, after which a line may be a changed one."""
    for _ in range(CONTEXT_LINES + 1):
        position = text.find("\n", position) + 1
        if not position:
            return len(text)
    return position
