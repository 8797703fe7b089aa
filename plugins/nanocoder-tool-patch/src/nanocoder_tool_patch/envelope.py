"""Patches between "*** Begin Patch" and "*** End Patch", which have anchors and no numbers."""

from collections.abc import Sequence

from attrs import define, field

from nanocoder_tool_patch.hunks import Hunk, Section, invalid_patch, path_of, read_hunk
from nanocoder_tool_patch.unified import start_of

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, UPDATE, DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
MOVE = "*** Move to: "
FENCE = "```"
BLANKS = " \t"  # policies allow for these before an instruction, and for no others
END_OF_FILE = "*** End of File"


@define
class _Reader:
    """The parser's position in the lines."""

    lines: Sequence[str]
    first_row: int
    at: int = 0
    sections: list[Section] = field(factory=list)

    @property
    def row(self) -> int:
        return self.first_row + self.at

    def read(self) -> list[Section]:
        while self.at < len(self.lines):
            line, row = self.lines[self.at].strip(BLANKS), self.row
            self.at += 1
            if line.startswith(ADD):
                self.sections.append(self._addition(path_of(line[len(ADD) :], row), row))
            elif line.startswith(DELETE):
                self.sections.append(Section("delete", path_of(line[len(DELETE) :], row), row))
            elif line.startswith(UPDATE):
                self.sections.append(self._update(path_of(line[len(UPDATE) :], row), row))
            elif line == END:
                break
            elif line and line != BEGIN and not line.startswith(FENCE):
                instructions = f"{ADD!r}, {UPDATE!r}, {DELETE!r} or {END!r}"
                raise invalid_patch(f"found {line[:80]!r}, expected {instructions}", row)
        return self.sections

    def _addition(self, path: str, row: int) -> Section:
        start = self.at
        body = self._body()
        for number, line in enumerate(body, self.first_row + start):
            if not line.startswith("+"):
                raise invalid_patch("every line of a new file begins with '+'", number)
        hunks = (read_hunk(body, row),) if body else ()
        return Section("add", path, row, hunks)

    def _update(self, path: str, row: int) -> Section:
        target = ""
        self._skip_blank_lines()
        if self.at < len(self.lines) and self.lines[self.at].strip(BLANKS).startswith(MOVE):
            target = path_of(self.lines[self.at].strip(BLANKS)[len(MOVE) :], self.row)
            self.at += 1
        # A unified diff below the name of its file repeats the name.
        if [line[:4] for line in self.lines[self.at : self.at + 2]] == ["--- ", "+++ "]:
            self.at += 2
        hunks = []
        while self._skip_blank_lines() and not _is_instruction(self.lines, self.at):
            hunks.append(self._hunk())
        if not hunks and not target:
            raise invalid_patch(f"no hunk for {path!r}", row)
        return Section("update", path, row, tuple(hunks), target)

    def _hunk(self) -> Hunk:
        row, anchors, start = self.row, [], 0
        # Several @@ lines in a row lead from an outer block to an inner one.
        while self.at < len(self.lines) and self.lines[self.at].startswith("@@"):
            line = self.lines[self.at]
            start = start_of(line)
            if not start and line[2:].strip():
                anchors.append(line[2:].removeprefix(" ").removesuffix(" @@"))
            self.at += 1
        begin = self.row - 1
        body = self._body()
        at_end = self.at < len(self.lines) and self.lines[self.at].rstrip() == END_OF_FILE
        if at_end:
            self.at += 1
        if not body:
            raise invalid_patch("a hunk without lines", row)
        hunk = read_hunk(body, begin, start=start, anchors=tuple(anchors), at_end=at_end)
        if not {"+", "-"} & {mark for mark, _ in hunk.lines}:
            raise invalid_patch("a hunk that neither adds nor removes a line", row)
        return hunk

    def _body(self) -> list[str]:
        """Return the lines up to the next instruction, without blank ones before it."""
        start = self.at
        while self.at < len(self.lines) and not self.lines[self.at].startswith(("@@", FENCE)):
            if _is_instruction(self.lines, self.at):
                break
            self.at += 1
        end = self.at
        while end > start and not self.lines[end - 1]:
            end -= 1
        return list(self.lines[start:end])

    def _skip_blank_lines(self) -> bool:
        """Go on to the next line of text; tell whether there is one."""
        while self.at < len(self.lines):
            if self.lines[self.at].strip() and not self.lines[self.at].startswith(FENCE):
                break
            self.at += 1
        return self.at < len(self.lines)


def _is_instruction(lines: Sequence[str], at: int) -> bool:
    """Return True if line *at* is an instruction, and no context that looks like one."""
    line, marker = lines[at], lines[at].strip(BLANKS)
    if line.startswith("*** ") or not marker.startswith("*** "):
        return line.startswith("*** ")
    below = next((after for after in lines[at + 1 :] if after.strip()), "")
    if marker == END:
        return not below
    marks = {ADD: "+", UPDATE: "@@", DELETE: "*** "}
    mark = next((mark for name, mark in marks.items() if marker.startswith(name)), "")
    return bool(mark) and below.strip().startswith((mark, END, MOVE))


def parse(lines: Sequence[str], first_row: int = 1) -> list[Section]:
    """Parse a patch of this form into a section for each file.

    Raises: ToolError (invalid_patch), naming the line.
    """
    return _Reader(lines, first_row).read()
