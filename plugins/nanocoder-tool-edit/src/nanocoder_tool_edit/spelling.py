"""Find a text that differs from the file in lookalikes, line numbers, or hidden characters."""

import re
from collections.abc import Callable

from nanocoder_kit_files.text import common_ends, fold, has_hidden, read_hidden, without_hidden

from nanocoder_tool_edit.document import Span, find_exact

_NUMBERED = r"[ \t]*(\d+)(?:\t|\u2192)"


def drop_numbers(old: str, new: str) -> tuple[str, str, int]:
    """Return both texts without the line numbers of read_file, and the first number, or 0."""
    numbers = [re.match(_NUMBERED, line) for line in old.rstrip("\n").split("\n")]
    if not all(numbers) or not numbers[0]:
        return old, new, 0
    old, new = (re.sub(f"(?m)^{_NUMBERED}", "", part) for part in (old, new))
    return old, new, int(numbers[0][1])


def as_shown(text: str, old: str, new: str) -> list[Span]:
    """Find *old* as read_file shows it, with `<U+200B>` for hidden characters."""
    spelled = read_hidden(old)
    return find_exact(text, spelled, read_hidden(new) if spelled != old else new)


def lookalike(text: str, old: str, new: str) -> list[Span]:
    """Find *old* with other quotes, dashes, blanks and signs; unchanged parts stay."""
    head, tail = common_ends(old, new)
    return [
        Span(span.start + head, span.end - tail, new[head : len(new) - tail])
        for span in find_exact(fold(text), fold(old), new)
    ]


def unseen(text: str, old: str, new: str) -> list[Span]:
    """Find *old* with other hidden characters; those around the change stay."""
    if not (has_hidden(text) or has_hidden(old)):
        return []
    (bare, original_offset), (old, _) = without_hidden(fold(text)), without_hidden(fold(old))
    head, tail = common_ends(old, fold(new))
    changed = new[head : len(new) - tail]
    spans = find_exact(bare, old, changed) if old.strip() else []
    return [
        _mapped_span(span.start + head, span.end - tail, changed, original_offset) for span in spans
    ]


def _mapped_span(start: int, end: int, new: str, original_offset: Callable[[int], int]) -> Span:
    last = original_offset(end - 1) + 1 if end > start else original_offset(start)
    return Span(original_offset(start), last, new)


SPELLINGS: tuple[tuple[str, float, Callable[[str, str, str], list[Span]]], ...] = (
    ("as_shown", 0.99, as_shown),
    ("lookalike", 0.97, lookalike),
    ("unseen", 0.97, unseen),
)
