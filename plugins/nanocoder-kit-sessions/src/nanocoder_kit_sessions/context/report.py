"""The use of the model's context window, as lines for people."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from nanocoder_kit_sessions.context.sources import Source

BAR_COLUMNS = 20
KINDS = {
    "prompt": "system prompt",
    "files": "files in it",
    "tools": "tools",
    "history": "conversation",
    "results": "results of calls",
}


def window_rows(
    sources: Iterable[Source], window_tokens: int, sign: str = "#"
) -> list[tuple[str, str, str]]:
    """Return rows of name, tokens and bar: one for each kind, its sources below it, the sum."""
    rows, total = [], 0
    for kind, group in groupby(sources, key=lambda source: source.kind):
        members = list(group)
        tokens = sum(source.tokens for source in members)
        total += tokens
        rows.append((KINDS[kind], f"{tokens:,}", _bar(tokens, window_tokens, sign)))
        rows += [(f"· {source.name}", f"{source.tokens:,}", "") for source in members]
    used = f"{total / max(window_tokens, 1):.0%} of {window_tokens:,}"
    return [*rows, ("together", f"{total:,}", used)]


def aligned(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return *rows* with their numbers to the right."""
    width = max(len(tokens) for _, tokens, _ in rows)
    return [(name, tokens.rjust(width), bar) for name, tokens, bar in rows]


def _bar(tokens: int, window_tokens: int, sign: str) -> str:
    return sign * min(BAR_COLUMNS, -(-BAR_COLUMNS * tokens // max(window_tokens, 1)))
