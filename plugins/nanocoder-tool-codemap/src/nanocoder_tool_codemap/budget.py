"""Lines that fit into a number of tokens."""

from collections.abc import Iterable

from attrs import define, field
from nanocoder import count_tokens

NOTE_TOKENS = 20
"""Tokens reserved for the line with the number of missing lines."""


@define
class Budget:
    """Takes lines while they fit into *tokens*; *left_out* counts those that did not."""

    tokens: int
    lines: list[str] = field(factory=list)
    left_out: int = 0
    used: int = 0
    is_cut: bool = False

    def add(self, line: str) -> bool:
        """Take *line* if it fits; after the first that does not, no line is taken any more."""
        cost = count_tokens(line) + 1
        if self.left_out or self.used + cost > self.tokens - NOTE_TOKENS:
            self.left_out += 1
            return False
        self.used += cost
        self.lines.append(line)
        return True

    def extend(self, lines: Iterable[str], most: int) -> None:
        """Add the *lines* that fit, and count up to *most* of the others."""
        for line in lines:
            if self.left_out == most:
                self.is_cut = True
                return
            self.add(line)

    def text(self) -> str:
        """Return the lines and the number of missing ones; never more than *tokens*."""
        text = "\n".join(self.lines)
        if not self.left_out:
            return text
        number = f"{'more than ' if self.is_cut else ''}{self.left_out:,}"
        text_and_note = "\n".join([*self.lines, f"[{number} more lines; choose a narrower target]"])
        return text_and_note if count_tokens(text_and_note) <= self.tokens else text or "\u2026"
