"""Where the text stands that is to be replaced: exactly there, or not quite as the model wrote it.

Each strategy is one function that returns every place it finds. The first that finds any decides;
all but the exact one must find exactly one.
"""

from collections.abc import Callable, Sequence

from attrs import frozen

from nanocoder_tool_edit.blocks import Block, Lines, collapsed
from nanocoder_tool_edit.document import Span
from nanocoder_tool_edit.indentation import indent, outline, reindented

FUZZY_LINES = 3
FUZZY_SIMILARITY = 0.8
COMPARED_LINES = 100_000  # about 100 ms
SHOWN_PLACES = 10
MAX_TOLERANT = 200_000  # characters of what is looked for not quite exactly, about 20 ms


@frozen
class Found:
    """The places that *strategy* found, and how sure it is of them, from 0 to 1."""

    strategy: str
    confidence: float
    spans: Sequence[Span]


Strategy = Callable[[Lines, Block, str], list[Span]]
Outline = list[tuple[int, str]]


def exact(text: str, old: str, new: str) -> list[Span]:
    """Find *old* as it is; matches that overlap count."""
    spans = []
    position = text.find(old)
    while position >= 0:
        spans.append(Span(position, position + len(old), new))
        position = text.find(old, position + 1)
    return spans


def line_trimmed(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines that differ in white space at their ends only."""
    return _windows(lines, block, new, str.rstrip)


def whitespace_normalised(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines that have other white space between their words."""
    return _windows(lines, block, new, lambda line: indent(line) + collapsed(line))


def indent_normalised(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines that are indented further, or less, or by tabs; *new* is indented as they are."""
    wanted = outline(block.lines)
    count = len(wanted)
    spans = []
    for start in lines.windows(block.lines, str.strip):
        found = lines.all[start : start + count]
        if outline(found) == wanted:
            text = reindented(new, block.lines, found, lines.all)
            spans.append(lines.span(start, start + count - 1, text, ends_line=block.ends_line))
    return spans


def line_skip(lines: Lines, block: Block, new: str) -> list[Span]:
    """Find lines with more or fewer blank lines between them."""
    wanted = [line for line in block.lines if line.strip()]
    there = [number for number, line in enumerate(lines.all) if line.strip()]
    filled = Lines("\n".join(lines.all[number] for number in there))
    spans = []
    for start in filled.windows(wanted, str.strip) if len(wanted) > 1 else ():
        found = filled.all[start : start + len(wanted)]
        if outline(found) == outline(wanted):
            first, last = there[start], there[start + len(wanted) - 1]
            text = reindented(new.strip("\n"), wanted, found, lines.all)
            spans.append(lines.span(first, last, text, ends_line=False))
    return spans


CASCADE: tuple[tuple[str, float, Strategy], ...] = (
    ("line_trimmed", 0.98, line_trimmed),
    ("whitespace_normalised", 0.95, whitespace_normalised),
    ("indent_normalised", 0.95, indent_normalised),
    ("line_skip", 0.9, line_skip),
)


def fuzzy_anchor(lines: Lines, block: Block, new: str) -> list[tuple[float, Span]]:
    """Find three and more lines whose first and last are right, and the middle is similar.

    Nothing is found where too many lines would have to be compared: one more place could be there.
    """
    count = len(block.lines)
    first, last = block.lines[0].strip(), block.lines[-1].strip()
    if count < FUZZY_LINES or not first or not last:
        return []
    wanted = outline(block.lines)
    slack = max(1, count // 4)
    places = []
    left = COMPARED_LINES
    for start in lines.having(first):
        if lines.all[start].strip() != first:
            continue
        ends = [
            end
            for end in range(max(start + 2, start + count - 1 - slack), start + count + slack)
            if end < len(lines.all) and lines.all[end].strip() == last
        ]
        left -= len(ends) * count
        if left < 0:
            return []
        scored = [(_similarity(outline(lines.all[start : end + 1]), wanted), end) for end in ends]
        score, end = max(scored, default=(0.0, 0))
        if score >= FUZZY_SIMILARITY:
            text = reindented(new, block.lines, lines.all[start : end + 1], lines.all)
            places.append((score, lines.span(start, end, text, ends_line=block.ends_line)))
    return places


def find(text: str, old: str, new: str, *, tolerant: bool) -> Found | None:
    """Return what the first strategy that finds anything found; None when there is nothing."""
    spans = exact(text, old, new)
    if spans:
        return Found("exact", 1.0, spans)
    if not tolerant or len(old) > MAX_TOLERANT or not old.strip():
        return None
    lines, block = Lines(text), Block.of(old)
    for name, confidence, strategy in CASCADE:
        spans = strategy(lines, block, new)
        if spans:
            return Found(name, confidence, spans)
    places = fuzzy_anchor(lines, block, new)
    if not places:
        return None
    return Found("fuzzy_anchor", max(score for score, _ in places), [span for _, span in places])


def _windows(lines: Lines, block: Block, new: str, key: Callable[[str], str]) -> list[Span]:
    last = len(block.lines) - 1
    spans = []
    for start in lines.windows(block.lines, key):
        text = reindented(new, block.lines, lines.all[start : start + last + 1], lines.all)
        spans.append(lines.span(start, start + last, text, ends_line=block.ends_line))
    return spans


def _similarity(there: Outline, here: Outline) -> float:
    """Compare the middle lines; 0 when the outer ones are not indented alike."""
    from rapidfuzz.distance import Levenshtein  # 12 MB that an exact edit does not load

    if (there[0], there[-1]) != (here[0], here[-1]):
        return 0.0
    texts = (
        "\n".join("    " * level + line for level, line in lines[1:-1]) for lines in (there, here)
    )
    return Levenshtein.normalized_similarity(*texts, score_cutoff=FUZZY_SIMILARITY)
