"""The record of one file of code."""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

FIELDS = 7


@frozen
class Definition:
    """Something with a name: lines *line* to *end*, from 1; *depth* is how deep it is nested.

    *parent* is the name of the definition around it, *signature* its first line.
    """

    name: str
    kind: str
    line: int
    end: int
    depth: int
    parent: str
    signature: str


class Record:
    """The record of one file, which is read out of its stored form at first use.

    A map of thousands of files is loaded in a fraction of the time that way.
    """

    __slots__ = ("_definitions", "_words", "language", "lines", "stored")

    def __init__(self, stored: Sequence[Any]) -> None:
        """Take the stored form; raises ValueError or TypeError for anything else."""
        language, lines, definitions, imports, words = stored
        if not all(isinstance(item, str) for item in (language, words, *imports)):
            raise TypeError("a record of another shape")
        if not isinstance(lines, int) or any(len(item) != FIELDS for item in definitions):
            raise TypeError("a record of another shape")
        self.stored = stored
        self.language: str = language
        self.lines: int = lines
        self._definitions: tuple[Definition, ...] | None = None
        self._words: frozenset[str] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.stored == other.stored

    __hash__ = None  # type: ignore[assignment]

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions, in the order of the file."""
        if self._definitions is None:
            self._definitions = tuple(Definition(*row) for row in self.stored[2])
        return self._definitions

    @property
    def imports(self) -> Sequence[str]:
        """The imports, as the file writes them."""
        imports: Sequence[str] = self.stored[3]
        return imports

    @property
    def words(self) -> frozenset[str]:
        """All names outside comments and strings."""
        if self._words is None:
            self._words = frozenset(self.stored[4].split())
        return self._words

    def top_names(self) -> set[str]:
        """Return the names that the file defines at its top."""
        return {row[0] for row in self.stored[2] if not row[4] and row[1] != "impl"}


def make_record(
    language: str,
    lines: int,
    definitions: Iterable[Definition],
    imports: Iterable[str],
    words: Iterable[str],
) -> Record:
    """Return the record of a file that was just read."""
    rows = [
        [
            definition.name,
            definition.kind,
            definition.line,
            definition.end,
            definition.depth,
            definition.parent,
            definition.signature,
        ]
        for definition in definitions
    ]
    return Record([language, lines, rows, list(imports), " ".join(sorted(words))])
