"""Lines of a file against lines that a model remembers."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import accumulate
from operator import eq

from attrs import frozen

from nanocoder_tool_edit.document import Span

COUNTED_WORDS = 5


@frozen
class Block:
    """What is looked for: *lines*, and whether the newline of the last one belongs to them."""

    lines: list[str]
    ends_line: bool

    @classmethod
    def of(cls, text: str) -> "Block":
        """Cut *text* into lines."""
        lines = text.split("\n")
        if len(lines) > 1 and not lines[-1]:
            return cls(lines[:-1], ends_line=True)
        return cls(lines, ends_line=False)


class Lines:
    """A text as lines that know where they start."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.all)]

    def span(self, first: int, last: int, new: str, *, ends_line: bool) -> Span:
        """Replace the lines *first* to *last* (from 0, both included) by *new*."""
        start, end = self._starts[first], self._starts[last + 1]
        if end > len(self.text):  # the last line has no newline, and does not get one
            return Span(start, len(self.text), new.removesuffix("\n") if ends_line else new)
        return Span(start, end if ends_line else end - 1, new)

    def having(self, text: str) -> Iterator[int]:
        """Yield the numbers, from 0, of the lines that *text*, which has no newline, is in."""
        at = self.text.find(text)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self.text.find(text, self._starts[number + 1])

    def windows(self, wanted: list[str], key: Callable[[str], str]) -> Iterator[int]:
        """Yield where as many lines as *wanted* are equal to them by *key*.

        A *key* may change white space, and nothing else.
        """
        offset, word = self._rarest(wanted)
        target = [key(line) for line in wanted]
        for number in self.having(word):
            start = number - offset
            window = self.all[start : start + len(target)] if start >= 0 else []
            if len(window) == len(target) and all(map(eq, map(key, window), target)):
                yield start

    def _rarest(self, wanted: list[str]) -> tuple[int, str]:
        """Return the one of the longest words of *wanted* that is rarest here, and its line."""
        words: dict[str, int] = {}
        for number, line in enumerate(wanted):
            for word in line.split():
                words.setdefault(word, number)
        longest = nlargest(COUNTED_WORDS, words, key=len)
        word = min(longest, key=self.text.count, default="")
        return words.get(word, 0), word


def collapsed(line: str) -> str:
    """Return *line* with single blanks for all runs of white space, and none at the ends."""
    return " ".join(line.split())
