"""A search, its checked arguments, and the lines that it yields."""

from collections.abc import Callable
from typing import Literal

from attrs import frozen
from nanocoder import ToolError
from nanocoder_kit_files.glob import BadPattern, compile_glob, endings

from nanocoder_tool_grep.types import globs_of, nearest_types

MAX_PATTERN = 1_024
MAX_CONTEXT = 50
COUNTED = 10_000  # lines, or files; a search with more matches is too broad to be useful

Output = Literal["content", "files", "count"]


@frozen
class Query:
    """A search. *path* is relative to the workspace, links resolved; *is_file*: it is a file."""

    pattern: str
    path: str = "."
    is_file: bool = False
    glob: str = ""
    type: str = ""
    output: Output = "content"
    context: int = 0
    ignore_case: bool = False
    fixed: bool = False
    multiline: bool = False

    @property
    def is_plain(self) -> bool:
        """True if the pattern is literal text."""
        return self.fixed or not set(self.pattern) & set(r"\.^$*+?{}[]|()")

    @property
    def is_found_in_bytes(self) -> bool:
        """True if the pattern matches the same bytes in nearly every encoding."""
        return self.is_plain and self.pattern.isascii() and not self.multiline


@frozen
class Line:
    """A line of a file, from number 1; not *is_match* for lines around a match.

    It begins *offset* bytes after the start of the file, or of the file as UTF-8 if it is in
    another encoding, and its first match *column* bytes further. *text* is its displayed part. In
    counts *number* is the number of matching lines; in lists of files it is 1.
    """

    path: str
    number: int
    text: str = ""
    is_match: bool = True
    offset: int = 0
    column: int = 0


class Stopped(Exception):
    """The search took too long and was ended."""


def check(pattern: str, glob: str = "", kind: str = "") -> None:
    """Refuse a pattern or glob that cannot match or is too long; raises ToolError."""
    if not pattern:
        raise invalid("the pattern is empty")
    if len(pattern) > MAX_PATTERN:
        raise invalid(f"the pattern is longer than {MAX_PATTERN} characters")
    for name, text in (("pattern", pattern), ("glob", glob)):
        if "\0" in text or (name == "glob" and "\n" in text):
            raise invalid(f"the {name} has a NUL or a line break, which cannot match")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise invalid(f"the {name} has half a character; send the character itself")
    if kind and not globs_of(kind):
        raise invalid(f"no type {kind!r}; there are {', '.join(nearest_types(kind))}; or use glob")


def invalid(message: str) -> ToolError:
    """Return the error for arguments that make no sense."""
    return ToolError(message, error_class="invalid_arguments")


def path_filter(query: Query) -> Callable[[str], bool]:
    """Return a filter for paths by glob and type; raises ToolError for an invalid glob."""
    by_glob = _glob_filter(query)
    if not query.type:
        return by_glob
    of_type = compile_glob("{" + ",".join((*globs_of(query.type), "")) + "}").fullmatch
    return lambda path: of_type(path.rpartition("/")[2]) is not None and by_glob(path)


def name_ends(query: Query) -> tuple[str, ...]:
    """Return the endings of the file names that the glob and the type allow."""
    ends = ("",) if query.glob.startswith("!") else endings(query.glob)
    if "" in ends and query.type:
        return tuple(end for glob in globs_of(query.type) for end in endings(glob))
    return ends


def _glob_filter(query: Query) -> Callable[[str], bool]:
    """Match a glob without a "/" with names, others with paths from the workspace or *path*."""
    if not query.glob:
        return lambda _: True
    is_allowed = not query.glob.startswith("!")
    glob = query.glob.removeprefix("!")
    try:
        match = compile_glob(glob).fullmatch
    except BadPattern as error:
        raise invalid(str(error)) from None
    if "/" not in glob:
        return lambda path: bool(match(path.rpartition("/")[2])) == is_allowed
    start = 0 if query.path == "." else len(query.path) + 1
    return lambda path: bool(match(path) or match(path[start:])) == is_allowed
