"""The files to search: those that the workspace's own walk visits."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import define, field
from nanocoder import ToolContext, unescape_path
from nanocoder_kit_files.glob.git_ignore import list_files
from nanocoder_kit_files.glob.left_out import LeftOut

from nanocoder_tool_grep.query import Query, name_ends, path_filter

_SPECIAL = r"([\\*?\[\]{} ])"


@define
class Selection:
    """The files to search, by folder ("" for the root); a file that is named in *path* is alone.

    Ripgrep walks the same tree with only our ignore rules, and matches in other files are dropped.
    """

    query: Query
    left_out: LeftOut = field(factory=LeftOut)
    _names: dict[str, set[str]] = field(factory=dict)

    def has(self, path: str) -> bool:
        """Return True if a file is searched."""
        folder, _, name = path.rpartition("/")
        return name in self._names.get(folder, ())

    def paths(self) -> Iterator[str]:
        """Yield the paths of all files."""
        for folder, names in self._names.items():
            prefix = f"{folder}/" if folder else ""
            yield from (prefix + name for name in names)

    def add(self, folder: str, names: Iterable[str]) -> None:
        """Add files of one folder."""
        self._names.setdefault(folder, set()).update(names)

    def rules(self) -> list[bytes]:
        """Return lines of an ignore file by which ripgrep skips the excluded paths."""
        left_out, ends = self.left_out, name_ends(self.query)
        lines: list[bytes] = []
        if "" not in ends:  # most names are ruled out by their ends alone
            lines += [b"*", b"!*/", *(b"!*" + _quoted(end) for end in ends)]
        for path in (*left_out.ignored_files, *left_out.files):
            lines.append(b"/" + _quoted(path))
        for path in (*left_out.ignored_folders, *left_out.skipped, *left_out.folders):
            lines.append(b"/" + _quoted(path) + b"/")
        # An ignore file has lines of UTF-8: other names are searched, and their matches dropped.
        return [line for line in lines if b"\n" not in line and _is_utf8(line)]


def select(ctx: ToolContext, query: Query, skip: frozenset[str]) -> Selection:
    """Return the files to search; raises ToolError for an invalid glob, Cancelled."""
    selection = Selection(query)
    allowed = path_filter(query)
    if query.is_file:
        if allowed(query.path):
            folder, _, name = query.path.rpartition("/")
            selection.add(folder, [name])
        return selection
    ends, left_out = name_ends(query), selection.left_out
    for files in list_files(ctx.workspace, query.path, skip=skip, left_out=left_out):
        ctx.cancelled.check()
        names = files.names
        if query.glob or query.type:
            names = [each for each in names if each.endswith(ends) and allowed(files.path(each))]
        if names:
            selection.add(files.folder, names)
    left_out.unreadable.clear()  # ripgrep complains of them, too
    return selection


def place(root: Path, where: Path) -> str:
    """Return *where* as an argument, relative to the root; stored outputs are outside of it."""
    if not where.is_relative_to(root):
        return str(where)
    return "./" if where == root else f"./{where.relative_to(root)}"


def _quoted(path: str) -> bytes:
    return os.fsencode(re.sub(_SPECIAL, r"\\\1", unescape_path(path)))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
