"""The contents of a patch, in either form: sections of hunks."""

from collections.abc import Sequence
from typing import Literal

from attrs import frozen
from nanocoder import ToolError

MARKS = " +-"
NO_NEWLINE = "\\"

Kind = Literal["add", "update", "delete"]


@frozen
class Hunk:
    r"""One hunk: *lines* are pairs of a mark (" ", "-", "+") and a text.

    *start* is the hunk's first line in the old file, from 1, or 0 if the patch does not give it.
    *anchors* are lines before it, in their order. *at_end*: it reaches the end of the file.
    *ends_old* and *ends_new* are False if the last line has no newline. *row* is its first line in
    the patch, from 1.
    """

    row: int
    lines: tuple[tuple[str, str], ...]
    start: int = 0
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    ends_old: bool = True
    ends_new: bool = True

    @property
    def old(self) -> list[str]:
        """The lines that must be in the file."""
        return [text for mark, text in self.lines if mark != "+"]

    @property
    def is_placeless(self) -> bool:
        """True if it only adds lines and gives no location."""
        return not (self.old or self.start or self.anchors or self.at_end)

    @property
    def new(self) -> list[str]:
        """The lines that are there afterwards."""
        return [text for mark, text in self.lines if mark != "-"]


@frozen
class Section:
    """The change of one file; *target* is its new path when it is renamed.

    *mode* are the permission bits of a new or changed file, or 0 if the patch has none.
    """

    kind: Kind
    path: str
    row: int
    hunks: tuple[Hunk, ...] = ()
    target: str = ""
    mode: int = 0


def read_hunk(
    body: Sequence[str],
    row: int,
    *,
    start: int = 0,
    anchors: tuple[str, ...] = (),
    at_end: bool = False,
) -> Hunk:
    """Read the marked lines of a hunk, which begins at line *row* of the patch."""
    lines: list[tuple[str, str]] = []
    ends_old = ends_new = True
    for number, line in enumerate(body, row + 1):
        mark = line[:1] or " "  # models drop the blank that marks an empty line
        if mark == NO_NEWLINE and lines:
            ends_old = ends_old and lines[-1][0] == "+"
            ends_new = ends_new and lines[-1][0] == "-"
        elif mark in MARKS:
            lines.append((mark, line[1:]))
        else:
            raise invalid_patch(f"{line[:80]!r} begins with none of ' ', '+' and '-'", number)
    at_end = at_end or not (ends_old and ends_new)
    return Hunk(row, tuple(lines), start, anchors, at_end, ends_old, ends_new)


def path_of(text: str, row: int) -> str:
    """Return the path that a line of the patch names, as policies read it, too."""
    path = text.partition("\t")[0].strip()
    if not path or path.startswith('"'):
        raise invalid_patch(f"{path!r} is not a path; write it plainly, without quotes", row)
    return path


def invalid_patch(problem: str, row: int) -> ToolError:
    """Return the error for a patch that cannot be read."""
    return ToolError(
        f"nothing was changed; line {row} of the patch: {problem}",
        error_class="invalid_patch",
        data={"row": row},
    )
