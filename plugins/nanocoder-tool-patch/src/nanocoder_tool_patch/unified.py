"""Unified diffs, as diff and git write them and as models write them from memory.

The numbers in a model's "@@ -a,b +c,d @@" are often wrong, so they are only a hint; a parser that
insists on them is of no use here.
"""

import re
from collections.abc import Sequence

from attrs import define, field

from nanocoder_tool_patch.hunks import (
    MARKS,
    NO_NEWLINE,
    Hunk,
    Kind,
    Section,
    invalid_patch,
    path_of,
    read_hunk,
)

NOTHING = "/dev/null"
SIGNATURE = "-- "
BOTH = 2
"""The number of lines of a rename: from and to."""
_GIT = re.compile(r"diff --git a/(.+) b/\1")
_MODE = re.compile(r"new (?:file )?mode 100(644|755)")
_FILE_KINDS: dict[str, Kind] = {"deleted file mode ": "delete", "new file mode ": "add"}
_RANGES = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_REFUSED = (
    ("GIT binary patch", "binary patches cannot be applied"),
    ("Binary files ", "binary patches cannot be applied"),
    ("copy from ", "copies cannot be applied; add the file instead"),
    ("new file mode 120000", "links cannot be made"),
    ("new file mode 160000", "submodules cannot be made"),
)


@define
class _Reader:
    """The parser's state.

    *rename_paths* are those of "rename from" and "rename to", *git_path* is the path in git's line
    above a file, *file_kind* the change of that file when no hunk follows, and *mode* its bits.
    """

    lines: Sequence[str]
    first_row: int
    at: int = 0
    rename_paths: list[str] = field(factory=list)
    git_path: str = ""
    file_kind: Kind | None = None
    mode: int = 0
    sections: list[Section] = field(factory=list)

    @property
    def row(self) -> int:
        return self.first_row + self.at

    def read(self) -> list[Section]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if _is_header(self.lines, self.at):
                self._section()
                continue
            if line.startswith("@@"):
                raise invalid_patch(
                    "a hunk without '--- a/PATH' and '+++ b/PATH' before it", self.row
                )
            for beginning, problem in _REFUSED:
                if line.startswith(beginning):
                    raise invalid_patch(problem, self.row)
            if line.startswith(("rename from ", "rename to ")):
                self.rename_paths.append(path_of(line.split(" ", 2)[2], self.row))
            elif line.startswith("diff "):
                self._end_of_file()
                self.git_path = header[1] if (header := _GIT.fullmatch(line)) else ""
            elif mode := _MODE.fullmatch(line):
                is_new = "file" in line
                # The umask decides for a new file that cannot be run.
                self.mode = 0 if is_new and mode[1] == "644" else int(mode[1], 8)
                self.file_kind = "add" if is_new else "update"
            else:
                kinds = (kind for start, kind in _FILE_KINDS.items() if line.startswith(start))
                self.file_kind = next(kinds, self.file_kind)
            self.at += 1
        self._end_of_file()
        return self.sections

    def _end_of_file(self) -> None:
        """End a file without hunks: it is renamed, has another mode, or is empty."""
        if len(self.rename_paths) == BOTH:
            old, new = self.rename_paths
            self._add("update", old, self.row, target=new)
        elif self.file_kind:
            self._add(self.file_kind, path_of(self.git_path, self.row), self.row)
        self.file_kind = None
        self.rename_paths.clear()

    def _add(
        self, kind: Kind, path: str, row: int, hunks: Sequence[Hunk] = (), target: str = ""
    ) -> None:
        mode = 0 if kind == "delete" else self.mode
        self.sections.append(Section(kind, path, row, tuple(hunks), target, mode))
        self.mode = 0

    def _section(self) -> None:
        row = self.row
        self.file_kind = None  # the hunks show it
        old, new = _paths(self.lines[self.at], self.lines[self.at + 1], row)
        self.at += 2
        hunks = []
        while (at := self._next_hunk()) is not None:
            self.at = at
            hunks.append(self._hunk())
        if not hunks:
            raise invalid_patch(f"no hunk for {old if new == NOTHING else new!r}", row)
        if len(self.rename_paths) == BOTH and NOTHING not in {old, new}:
            old, new = self.rename_paths
            self.rename_paths.clear()
            self._add("update", old, row, hunks, new)
            return
        self.rename_paths.clear()
        if old == NOTHING:
            self._add("add", new, row, hunks)
        elif new == NOTHING:
            self._add("delete", old, row, hunks)
        elif old == new:
            self._add("update", old, row, hunks)
        else:
            raise invalid_patch(
                f"{old!r} and {new!r} are two files; to rename one, write 'rename from {old}' and"
                f" 'rename to {new}' before it",
                row,
            )

    def _next_hunk(self) -> int | None:
        """Return the line of the next hunk of the same file, behind blank lines; None without."""
        rest = range(self.at, len(self.lines))
        at = next((number for number in rest if self.lines[number].strip()), len(self.lines))
        return at if at < len(self.lines) and self.lines[at].startswith("@@") else None

    def _hunk(self) -> Hunk:
        row = self.row
        ranges = _RANGES.match(self.lines[self.at])
        begin = self.at + 1
        old, new = (int(ranges[2] or 1), int(ranges[4] or 1)) if ranges else (-1, -1)
        self.at = _end_by_numbers(self.lines, begin, old, new) or _end_by_marks(self.lines, begin)
        body = self.lines[begin : self.at]
        # "-5,0" is an insertion after line 5, everything else begins at its line.
        start = (int(ranges[1]) + (old == 0)) if ranges else 0
        return read_hunk(body, row, start=start)


def parse(lines: Sequence[str], first_row: int = 1) -> list[Section]:
    """Parse a unified diff into a section for each file.

    Raises: ToolError (invalid_patch), naming the line.
    """
    return _Reader(lines, first_row).read()


def start_of(line: str) -> int:
    """Return the line number in "@@ -a,b +c,d @@"; 0 when it is something else."""
    ranges = _RANGES.match(line)
    return int(ranges[1]) if ranges else 0


def _paths(first: str, second: str, row: int) -> tuple[str, str]:
    """Return both paths; policies read the same lines and must get the same paths."""
    old, new = first[4:], second[4:]
    # A directory may be called "a": git's prefixes are stripped only if both sides have them.
    has_old = old.startswith("a/") or old.strip().startswith(NOTHING)
    has_new = new.startswith("b/") or new.strip().startswith(NOTHING)
    if has_old and has_new:
        old, new = old.removeprefix("a/"), new.removeprefix("b/")
    return path_of(old, row), path_of(new, row + 1)


def _is_header(lines: Sequence[str], at: int) -> bool:
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return lines[at].startswith("--- ") and below.startswith("+++ ")


def _end_by_numbers(lines: Sequence[str], at: int, old: int, new: int) -> int:
    """Return the end index of a hunk of *old* and *new* lines, or 0 if its counts are wrong."""
    if old < 0:
        return 0
    while old > 0 or new > 0:
        mark = (lines[at][:1] or " ") if at < len(lines) else ""
        if not mark or mark not in MARKS + NO_NEWLINE:
            return 0
        old -= mark in " -"
        new -= mark in " +"
        at += 1
    if at < len(lines) and lines[at].startswith(NO_NEWLINE):
        at += 1
    return 0 if old or new or _continues(lines, at) else at


def _continues(lines: Sequence[str], at: int) -> bool:
    if at == len(lines) or _is_header(lines, at) or lines[at] == SIGNATURE:
        return False
    return lines[at].startswith(tuple(MARKS))


def _end_by_marks(lines: Sequence[str], at: int) -> int:
    """Return the end index of a hunk: before the next hunk or file and its blank lines."""
    end = at
    while end < len(lines) and lines[end] != SIGNATURE and not _is_header(lines, end):
        if lines[end].startswith(("@@", "diff ", "Index: ")):
            break
        end += 1
    while end > at and not lines[end - 1]:
        end -= 1
    return end
