"""Find the text to replace: exactly as the model wrote it, or with small differences.

Each strategy is a function that returns all spans that it finds. The first one with a span decides;
all but the exact one must find exactly one.
"""

from collections.abc import Callable, Sequence

from attrs import frozen
from nanocoder_kit_files.text import fold

from nanocoder_tool_edit.blocks import Block, Lines, plain, trim
from nanocoder_tool_edit.document import Span, find_exact, line_of
from nanocoder_tool_edit.indentation import indent, outline, reindent
from nanocoder_tool_edit.spelling import SPELLINGS, drop_numbers

FUZZY_LINES = 3
FUZZY_SIMILARITY = 0.8
COMPARED_LINES = 100_000  # about 100 ms
SHOWN_PLACES = 10
MAX_TOLERANT = 200_000  # characters of a text that is searched tolerantly, about 20 ms


@frozen
class Match:
    """The spans that *strategy* found, and its confidence in them, from 0 to 1."""

    strategy: str
    confidence: float
    spans: Sequence[Span]


Strategy = Callable[[Lines, Block, str], list[Span]]
Outline = list[tuple[int, str]]


def line_trimmed(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines that differ in white space at their ends only."""
    return _windows(lines, block, new, lambda line: fold(line).rstrip(" \t"))


def whitespace_normalised(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines that have other white space between their words."""
    return _windows(lines, block, new, lambda line: indent(line) + plain(line))


def indent_normalised(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines with another indentation, and other white space; *new* gets theirs."""
    levels = outline(block.lines)
    count = len(levels)
    spans = []
    for start in lines.windows(block.lines, plain):
        window = lines.all[start : start + count]
        if outline(window) == levels:
            text = reindent(new, block.lines, window, lines.all)
            spans.append(lines.span(start, start + count - 1, text, ends_line=block.ends_line))
    return spans


def line_skip(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines with more or fewer blank lines between them."""
    text_lines = [line for line in block.lines if trim(line)]
    numbers = [number for number, line in enumerate(lines.all) if trim(line)]
    dense = Lines("\n".join(lines.all[number] for number in numbers))
    spans = []
    for start in dense.windows(text_lines, plain) if len(text_lines) > 1 else ():
        window = dense.all[start : start + len(text_lines)]
        if outline(window) == outline(text_lines):
            first, last = numbers[start], numbers[start + len(text_lines) - 1]
            text = reindent(new.strip("\n"), text_lines, window, lines.all)
            spans.append(lines.span(first, last, text, ends_line=False))
    return spans


CASCADE: tuple[tuple[str, float, Strategy], ...] = (
    ("line_trimmed", 0.98, line_trimmed),
    ("whitespace_normalised", 0.95, whitespace_normalised),
    ("indent_normalised", 0.95, indent_normalised),
    ("line_skip", 0.9, line_skip),
)


def fuzzy_anchor(lines: Lines, block: Block, new: str) -> list[tuple[float, Span]]:
    """Find three or more lines whose first and last are equal and the middle is similar.

    Returns nothing if too many lines would have to be compared: a second match could be missed.
    """
    count = len(block.lines)
    first, last = fold(trim(block.lines[0])), fold(trim(block.lines[-1]))
    if count < FUZZY_LINES or not first or not last:
        return []
    levels = outline(block.lines)
    slack = max(1, count // 4)
    matches = []
    budget = COMPARED_LINES
    for start in lines.lines_with(first):
        if fold(trim(lines.all[start])) != first:
            continue
        ends = [
            end
            for end in range(max(start + 2, start + count - 1 - slack), start + count + slack)
            if end < len(lines.all) and fold(trim(lines.all[end])) == last
        ]
        budget -= len(ends) * count
        if budget < 0:
            return []
        scored = [
            (_compare_middles(outline(lines.all[start : end + 1]), levels), end) for end in ends
        ]
        score, end = max(scored, default=(0.0, 0))
        if score >= FUZZY_SIMILARITY:
            text = reindent(new, block.lines, lines.all[start : end + 1], lines.all)
            matches.append((score, lines.span(start, end, text, ends_line=block.ends_line)))
    return matches


def find(text: str, old: str, new: str, *, tolerant: bool) -> Match | None:
    """Return the match of the first strategy that has one, or None."""
    spans = find_exact(text, old, new)
    if spans:
        return Match("exact", 1.0, spans)
    if not tolerant or len(old) > MAX_TOLERANT or not old.strip():
        return None
    old, new, line = drop_numbers(old, new)
    for name, confidence, search in SPELLINGS:
        if spans := search(text, old, new):
            # Line numbers within the text select one of several spans.
            at_line = [span for span in spans if line and line_of(text, span.start) == line]
            return Match(name, confidence, at_line or spans)
    return _find_lines(Lines(text), Block.of(old), new)


def _find_lines(lines: Lines, block: Block, new: str) -> Match | None:
    for name, confidence, strategy in CASCADE:
        spans = strategy(lines, block, new)
        if spans:
            return Match(name, confidence, spans)
    matches = fuzzy_anchor(lines, block, new)
    if not matches:
        return None
    return Match("fuzzy_anchor", max(score for score, _ in matches), [span for _, span in matches])


def _windows(lines: Lines, block: Block, new: str, key: Callable[[str], str]) -> list[Span]:
    last = len(block.lines) - 1
    spans = []
    for start in lines.windows(block.lines, key):
        text = reindent(new, block.lines, lines.all[start : start + last + 1], lines.all)
        spans.append(lines.span(start, start + last, text, ends_line=block.ends_line))
    return spans


def _compare_middles(file_outline: Outline, sought_outline: Outline) -> float:
    """Compare the middle lines; 0 when the outer ones are not indented alike."""
    from rapidfuzz.distance import Levenshtein  # 12 MB that an exact edit does not load

    if (file_outline[0], file_outline[-1]) != (sought_outline[0], sought_outline[-1]):
        return 0.0
    texts = (
        "\n".join("    " * level + line for level, line in lines[1:-1])
        for lines in (file_outline, sought_outline)
    )
    return Levenshtein.normalized_similarity(*texts, score_cutoff=FUZZY_SIMILARITY)
