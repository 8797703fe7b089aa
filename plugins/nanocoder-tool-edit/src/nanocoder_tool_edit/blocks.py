"""Search the lines of a file for the lines that a model sent."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import accumulate
from operator import eq

from attrs import frozen
from nanocoder_kit_files.text import fold

from nanocoder_tool_edit.document import Span

COUNTED_WORDS = 5


@frozen
class Block:
    """The lines to search; with *ends_line* the newline of the last one is included."""

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
    """A text, its lines, and where each of them starts; it is searched as `fold` returns it."""

    def __init__(self, text: str) -> None:
        self.text = fold(text)
        self.all = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.all)]

    def span(self, first: int, last: int, new: str, *, ends_line: bool) -> Span:
        """Replace the lines *first* to *last* (from 0, both included) by *new*."""
        start, end = self._starts[first], self._starts[last + 1]
        if end > len(self.text):  # the last line has no newline, and does not get one
            drops_end = ends_line and self.all[last] != ""
            return Span(start, len(self.text), new.removesuffix("\n") if drops_end else new)
        return Span(start, end if ends_line else end - 1, new)

    def lines_with(self, text: str) -> Iterator[int]:
        """Yield the numbers, from 0, of the lines that contain *text*, which has no newline."""
        at = self.text.find(text)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self.text.find(text, self._starts[number + 1])

    def windows(self, sought: list[str], key: Callable[[str], str]) -> Iterator[int]:
        """Yield the first line of each run that equals the lines *sought* by *key*.

        A *key* may normalize white space and lookalike characters.
        """
        offset, word = self._find_rarest(sought)
        target = [key(line) for line in sought]
        for number in self.lines_with(word):
            start = number - offset
            window = self.all[start : start + len(target)] if start >= 0 else []
            if len(window) == len(target) and all(map(eq, map(key, window), target)):
                yield start

    def _find_rarest(self, sought: list[str]) -> tuple[int, str]:
        """Return the rarest of the longest words of *sought*, and its line in them."""
        words: dict[str, int] = {}
        for number, line in enumerate(sought):
            for word in fold(line).split():
                words.setdefault(word, number)
        longest = nlargest(COUNTED_WORDS, words, key=len)
        word = min(longest, key=self.text.count, default="")
        return words.get(word, 0), word


def trim(line: str) -> str:
    """Return *line* without blanks and tabs at its ends; a form feed is no white space here."""
    return line.strip(" \t")


def collapse_spaces(line: str) -> str:
    """Return *line* with single blanks for all runs of blanks and tabs, and none at the ends."""
    return " ".join(filter(None, line.replace("\t", " ").split(" ")))


def plain(line: str) -> str:
    """Return *line* with plain characters and single blanks."""
    return collapse_spaces(fold(line))
