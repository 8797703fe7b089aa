"""New text indented as the file is, where a model wrote it with other white space."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from math import gcd

TAB_WIDTH = 4
SAMPLED_LINES = 2_000


def indent(line: str) -> str:
    """Return the white space that *line* begins with."""
    return line[: len(line) - len(line.lstrip())]


def outline(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return each line with its level: 0 for the least indented ones, 1 for the next, and so on.

    Levels are counted, not measured, so that a block of tabs equals the same block of spaces.
    """
    widths = {_width(indent(line)) for line in lines if line.strip()}
    levels = {width: level for level, width in enumerate(sorted(widths))}
    return [
        (levels[_width(indent(line))], line.strip()) if line.strip() else (0, "") for line in lines
    ]


def reindented(new: str, wanted: Sequence[str], found: Sequence[str], file: Sequence[str]) -> str:
    """Return *new*, which follows the *wanted* lines, indented as the *found* ones are.

    The lines of *file* decide about levels that *found* does not have.
    """
    style = _Style(wanted, found, new.split("\n"), file)
    return "\n".join(
        style.indent_of(line) + line.lstrip() if line.strip() else line for line in new.split("\n")
    )


class _Style:
    """How the model indents, how the file does, and what of the two is known to be the same."""

    def __init__(
        self,
        wanted: Sequence[str],
        found: Sequence[str],
        new: Sequence[str],
        file: Sequence[str],
    ) -> None:
        pairs = list(_pairs(wanted, found))
        self._lines = {here: indent(there) for here, there in reversed(pairs)}
        self._known = {indent(here): indent(there) for here, there in reversed(pairs)}
        self._is_shifted = any(here != there for here, there in self._known.items())
        # A few lines tell tabs from spaces, but not how many spaces are one level.
        self._file_unit = "\t" if _unit(found) == "\t" else _unit(file)
        self._file_starts = {line[0] for line in file if line.startswith((" ", "\t"))}
        self._model_columns = self._columns([*wanted, *new])

    def indent_of(self, line: str) -> str:
        """Return the white space that *line* of the new text begins with in the file."""
        same = self._lines.get(line)
        if same is not None:  # the same words indented alike may be written in two ways in a file
            return same
        own = indent(line)
        return self._known[own] if own in self._known else self._unknown(own)

    def _unknown(self, own: str) -> str:
        """Return the file's white space for a level that none of the replaced lines has."""
        if not self._known or not self._file_unit or not self._is_foreign(own):
            return self._moved(own)
        base = self._base(own)
        steps, rest = divmod(_width(own) - _width(base), self._model_columns)
        there = self._known[base]
        if steps < 0:
            return _without(there, self._file_unit, -steps)
        return there + self._file_unit * steps + " " * rest

    def _moved(self, own: str) -> str:
        """Return *own* as far to the right or left as the lines that are known."""
        if not self._known:
            return own
        base = self._base(own)
        if own.startswith(base):
            return self._known[base] + own[len(base) :]
        if base.startswith(own):
            return self._known[base].removesuffix(base[len(own) :])
        return own

    def _is_foreign(self, own: str) -> bool:
        """Tell whether *own* is written otherwise than the file writes it."""
        return self._is_shifted or (own != "" and own[0] not in self._file_starts)

    def _base(self, own: str) -> str:
        """Return the known level that is nearest to *own*, one above it if there is any."""
        return max(
            self._known,
            key=lambda base: (_width(base) <= _width(own), -abs(_width(own) - _width(base))),
        )

    def _columns(self, lines: Sequence[str]) -> int:
        """Return how many columns the model uses for what is one level in the file."""
        unit = _unit_columns(self._file_unit)
        levels = {_width(there) // unit: _width(here) for here, there in self._known.items()}
        steps = [
            (levels[high] - levels[low]) // (high - low)
            for low in levels
            for high in levels
            if high > low
        ]
        if steps and min(steps) > 0:
            return min(steps)
        if steps := _steps(list(map(indent, filter(str.strip, lines)))):
            return min(steps)
        whole = [columns // level for level, columns in levels.items() if level and columns]
        return whole[0] if whole and whole[0] else _unit_columns(_unit(lines))


def _pairs(wanted: Sequence[str], found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each line that was looked for with the line of the file that it is."""
    here = [line for line in wanted if line.strip()]
    there = [line for line in found if line.strip()]
    if len(here) == len(there):
        yield from zip(here, there, strict=True)
        return
    # A similar middle may have more lines, or fewer; the first and the last are the same.
    yield from ((here[0], there[0]), (here[-1], there[-1]))
    missing = {line.strip(): line for line in there}
    yield from ((line, missing[line.strip()]) for line in here if line.strip() in missing)


def _unit(lines: Iterable[str]) -> str:
    """Return one level of indentation in *lines*: a tab, or some spaces; "" where none is."""
    indents = [indent(line) for line in islice(filter(str.strip, lines), SAMPLED_LINES)]
    tabs = sum(one.startswith("\t") for one in indents)
    spaces = [len(one) for one in indents if one.startswith(" ")]
    if tabs > len(spaces):
        return "\t"
    # A step from one line to the next is one level; odd ones are lines that go on.
    steps = _steps(["", *(one for one in indents if not one.startswith("\t"))])
    common = [step for step in steps if step in {2, 4, 8}] or steps
    if common:
        return " " * max(sorted(set(common)), key=common.count)
    return " " * gcd(*spaces) if spaces else ""


def _steps(indents: Sequence[str]) -> list[int]:
    """Return by how many columns each line is indented further than the one before it."""
    differences = (_width(after) - _width(before) for before, after in pairwise(indents))
    return [step for step in differences if step > 0]


def _unit_columns(unit: str) -> int:
    return TAB_WIDTH if unit in {"", "\t"} else len(unit)


def _width(white: str) -> int:
    return len(white.expandtabs(TAB_WIDTH))


def _without(white: str, unit: str, count: int) -> str:
    for _ in range(count):
        white = white.removesuffix(unit)
    return white
