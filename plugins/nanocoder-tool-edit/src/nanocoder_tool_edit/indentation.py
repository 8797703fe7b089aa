"""Indent new text as the file is indented, when a model wrote other white space."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from math import gcd

from nanocoder_tool_edit.blocks import plain

TAB_WIDTH = 4
SAMPLED_LINES = 2_000


def indent(line: str) -> str:
    """Return the white space that *line* begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def outline(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return each line with its level: 0 for the least indented ones, 1 for the next, and so on.

    Levels are counted, not measured, so that a block of tabs equals the same block of spaces.
    """
    widths = {_width(indent(line)) for line in lines if line.strip()}
    levels = {width: level for level, width in enumerate(sorted(widths))}
    return [
        (levels[_width(indent(line))], plain(line)) if line.strip() else (0, "") for line in lines
    ]


def reindent(new: str, sought: Sequence[str], matched: Sequence[str], file: Sequence[str]) -> str:
    """Return *new*, written in the style of the *sought* lines, indented as the *matched* ones.

    Lines that do not change stay as they are in the file. The lines of *file* decide for levels
    that *matched* does not have.
    """
    lines = new.split("\n")
    if _is_indented_already(lines, sought, matched):
        return new
    style = _Style(sought, matched, lines, file)
    same = _unchanged(sought, matched)
    return "\n".join(
        same.get(line) or style.indent_of(line) + line.lstrip(" \t") if line.strip() else line
        for line in lines
    )


def _unchanged(sought: Sequence[str], matched: Sequence[str]) -> dict[str, str]:
    """Return the lines of the file by those of the model, as far as certain."""
    pairs = {(old, line) for old, line in _pairs(sought, matched) if plain(old) == plain(line)}
    spelled = [old for old, _ in pairs]
    return {old: line for old, line in pairs if spelled.count(old) == 1}


def _is_indented_already(new: Sequence[str], sought: Sequence[str], matched: Sequence[str]) -> bool:
    """Return True if only the old text lacks the file's indentation, and the new one has it."""
    least = [
        min((indent(line) for line in lines if line.strip()), key=_width, default="")
        for lines in (new, sought, matched)
    ]
    changes_words = list(map(plain, new)) != list(map(plain, sought))
    return least[0] == least[2] and least[1] == "" != least[2] and changes_words


class _Style:
    """The indentation of the model and of the file, and which of the two correspond."""

    def __init__(
        self,
        sought: Sequence[str],
        matched: Sequence[str],
        new: Sequence[str],
        file: Sequence[str],
    ) -> None:
        pairs = list(_pairs(sought, matched))
        self._lines = {sought_line: indent(file_line) for sought_line, file_line in reversed(pairs)}
        self._indents = {
            indent(sought_line): indent(file_line) for sought_line, file_line in reversed(pairs)
        }
        self._is_shifted = any(
            sought_line != file_line for sought_line, file_line in self._indents.items()
        )
        # A few lines tell tabs from spaces, but not how many spaces are one level.
        self._file_unit = "\t" if _unit(matched) == "\t" else _unit(file)
        self._file_starts = {line[0] for line in file if line.startswith((" ", "\t"))}
        self._model_columns = self._columns([*sought, *new])

    def indent_of(self, line: str) -> str:
        """Return the white space that *line* of the new text begins with in the file."""
        indentation = self._lines.get(line)
        if indentation is not None:  # a file may indent some lines by tabs and others by spaces
            return indentation
        white = indent(line)
        return self._indents[white] if white in self._indents else self._convert(white)

    def _convert(self, white: str) -> str:
        """Return the file's white space for a level that is not in the replaced lines."""
        if not self._indents or not self._file_unit or not self._is_foreign(white):
            return self._shift(white)
        base = self._base(white)
        steps, rest = divmod(_width(white) - _width(base), self._model_columns)
        base_indent = self._indents[base]
        if steps < 0:
            return _remove_units(base_indent, self._file_unit, -steps)
        return base_indent + self._file_unit * steps + " " * rest

    def _shift(self, white: str) -> str:
        """Return *white* shifted to the right or left as far as the known lines are."""
        if not self._indents:
            return white
        base = self._base(white)
        if white.startswith(base):
            return self._indents[base] + white[len(base) :]
        if base.startswith(white):
            return self._indents[base].removesuffix(base[len(white) :])
        return white

    def _is_foreign(self, white: str) -> bool:
        """Return True if *white* is not how the file indents."""
        return self._is_shifted or (white != "" and white[0] not in self._file_starts)

    def _base(self, white: str) -> str:
        """Return the known level that is nearest to *white*, one above it if there is any."""
        return max(
            self._indents,
            key=lambda base: (_width(base) <= _width(white), -abs(_width(white) - _width(base))),
        )

    def _columns(self, lines: Sequence[str]) -> int:
        """Return the columns that the model uses for one level of the file."""
        unit = _unit_columns(self._file_unit)
        levels = {_width(there) // unit: _width(here) for here, there in self._indents.items()}
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
        ratios = [columns // level for level, columns in levels.items() if level and columns]
        return ratios[0] if ratios and ratios[0] else _unit_columns(_unit(lines))


def _pairs(sought: Sequence[str], matched: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each sought line with the line of the file that it matches."""
    sought_lines = [line for line in sought if line.strip()]
    file_lines = [line for line in matched if line.strip()]
    if len(sought_lines) == len(file_lines):
        yield from zip(sought_lines, file_lines, strict=True)
        return
    # A similar middle may have more lines, or fewer; the first and the last are the same.
    yield from ((sought_lines[0], file_lines[0]), (sought_lines[-1], file_lines[-1]))
    missing = {line.strip(): line for line in file_lines}
    yield from ((line, missing[line.strip()]) for line in sought_lines if line.strip() in missing)


def _unit(lines: Iterable[str]) -> str:
    """Return one level of indentation in *lines*: a tab, or some spaces, or ""."""
    indents = [indent(line) for line in islice(filter(str.strip, lines), SAMPLED_LINES)]
    tabs = sum(white.startswith("\t") for white in indents)
    spaces = [len(white) for white in indents if white.startswith(" ")]
    if tabs > len(spaces):
        return "\t"
    # A step from one line to the next is one level; odd steps are continuation lines.
    steps = _steps(["", *(white for white in indents if not white.startswith("\t"))])
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


def _remove_units(white: str, unit: str, count: int) -> str:
    for _ in range(count):
        white = white.removesuffix(unit)
    return white
