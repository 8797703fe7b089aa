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

    def add(self, line: str) -> bool:
        """Take *line* if it fits; what comes after one that did not is left out as well."""
        cost = count_tokens(line) + 1
        if self.left_out or self.used + cost > self.tokens - NOTE_TOKENS:
            self.left_out += 1
            return False
        self.used += cost
        self.lines.append(line)
        return True

    def extend(self, lines: Iterable[str]) -> None:
        """Take as many of *lines* as fit."""
        for line in lines:
            self.add(line)

    def text(self) -> str:
        """Return the lines, and how many are missing."""
        if not self.left_out:
            return "\n".join(self.lines)
        more = f"[{self.left_out:,} more lines; choose a narrower target]"
        return "\n".join([*self.lines, more])
