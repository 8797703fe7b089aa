"""Lines that fit into a number of tokens."""

from collections.abc import Iterable

from attrs import define, field
from nanocoder import count_tokens

NOTE_TOKENS = 20
"""Kept for the line that says what is missing."""


@define
class Budget:
    """Takes lines while they fit into *tokens*; *left_out* counts those that did not."""

    tokens: int
    lines: list[str] = field(factory=list)
    left_out: int = 0
    used: int = 0
    is_cut: bool = False

    def add(self, line: str) -> bool:
        """Take *line* if it fits; what comes after one that did not is left out as well."""
        cost = count_tokens(line) + 1
        if self.left_out or self.used + cost > self.tokens - NOTE_TOKENS:
            self.left_out += 1
            return False
        self.used += cost
        self.lines.append(line)
        return True

    def extend(self, lines: Iterable[str], most: int) -> None:
        """Take as many of *lines* as fit, and count up to *most* of the others."""
        for line in lines:
            if self.left_out == most:
                self.is_cut = True
                return
            self.add(line)

    def text(self) -> str:
        """Return the lines, and how many are missing; never more than *tokens*."""
        whole = "\n".join(self.lines)
        if not self.left_out:
            return whole
        number = f"{'more than ' if self.is_cut else ''}{self.left_out:,}"
        noted = "\n".join([*self.lines, f"[{number} more lines; choose a narrower target]"])
        return noted if count_tokens(noted) <= self.tokens else whole or "\u2026"
