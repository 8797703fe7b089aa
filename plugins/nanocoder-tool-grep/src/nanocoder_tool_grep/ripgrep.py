"""The search by ripgrep, with options that make it find what the search in Python finds."""

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from threading import Event, Thread, Timer
from typing import IO, cast

from nanocoder import ToolContext, Workspace
from nanocoder_kit_glob.ripgrep import FLAGS, path_of, place, rules, sees_our_rules

from nanocoder_tool_grep.matching import MAX_LINE, decode_line
from nanocoder_tool_grep.query import COUNTED, Line, Query, Stopped
from nanocoder_tool_grep.skipped import SkippedFiles
from nanocoder_tool_grep.types import globs_of

READ_BYTES = 4 * MAX_LINE + 4_096 + 32  # a line of four-byte characters, behind the longest path
MAX_STDERR = 4_000
MAX_BREAKS = 255
"""Line breaks that a path is looked for with; a name of a file has at most 255 bytes."""
_GONE = b"(os error 2)"
_SYSTEM_ERROR = re.compile(rb"\(os error \d+\)\s*$")
FIXED = (
    *(flag for flag in FLAGS if flag != "--no-messages"),
    "--no-heading",
    "--with-filename",
    "--encoding=none",
    "--crlf",
    "--no-context-separator",
    f"--max-columns={8 * MAX_LINE}",  # more of a line of a gigabyte is never shown
    "--max-columns-preview",
)
_MODES = {
    "content": ("--line-number",),
    "files": ("--files-with-matches",),
    "count": ("--count",),
}


class BadPatternError(Exception):
    """Ripgrep does not understand the pattern."""


def can_search(workspace: Workspace, query: Query) -> bool:
    """Tell whether ripgrep sees exactly the files that we see."""
    return query.is_file or sees_our_rules(workspace.root, workspace.real_path(query.path))


def search(
    ctx: ToolContext,
    program: str,
    query: Query,
    skipped: SkippedFiles,
    *,
    in_order: bool,
    limit_s: float,
    meanwhile: Callable[[], object] = lambda: None,
) -> Generator[Line]:
    """Yield what ripgrep finds; by path when *in_order*, otherwise faster.

    *meanwhile* is called while ripgrep works.
    Raises: BadPatternError, Stopped after *limit_s* seconds, Cancelled.
    """
    process = subprocess.Popen(
        [program, *arguments(ctx.workspace, query, in_order=in_order)],
        cwd=ctx.workspace.root,
        env={"PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    forget = ctx.cancelled.on_set(process.kill)
    late = Event()
    timer = Timer(limit_s, _end, (process, late))
    timer.daemon = True
    timer.start()
    complaints = Complaints(cast("IO[bytes]", process.stderr))
    with process:
        try:
            meanwhile()
            yield from _lines(cast("IO[bytes]", process.stdout), query, ctx.workspace.root)
            skipped.unreadable = complaints.unreadable_files()
            # Files that cannot be read make 2, too.
            if process.wait() == 2 and complaints.text:  # noqa: PLR2004 - ripgrep's for errors
                raise BadPatternError(complaints.text)
        finally:
            timer.cancel()
            forget()
            process.kill()
    ctx.cancelled.check()
    if late.is_set():
        raise Stopped


def _end(process: subprocess.Popen[bytes], late: Event) -> None:
    late.set()
    process.kill()


def arguments(workspace: Workspace, query: Query, *, in_order: bool) -> list[str]:
    """Return the arguments of ripgrep for *query*."""
    options = [*FIXED, *_MODES[query.output], *_filters(query)]
    where = workspace.real_path(query.path)
    if query.is_file:
        options.append("--text")  # its beginning was looked at; in a tree ripgrep does that
    else:
        options += rules(workspace.root, where)
    if query.output == "content":
        # A thread holds back what a file has until all of it is searched.
        options.append(f"--max-count={COUNTED + 1}")
    if query.context and query.output == "content":
        options.append(f"--context={query.context}")
    if query.multiline:
        options.append("--multiline")
    if query.ignore_case:
        options.append("--ignore-case")
    if query.is_plain:
        options.append("--fixed-strings")
    if in_order:
        options.append("--sort=path")
    return [*options, "-e", query.pattern, "--", place(workspace.root, where)]


def _filters(query: Query) -> list[str]:
    """Let ripgrep leave out names that cannot match; glob and type are applied afterwards."""
    names: tuple[str, ...] = (query.glob.rpartition("/")[2],)
    odd = query.glob.startswith("!") or set(query.glob) & set(":{}\\[]")
    if odd or names[0] in {"", "**"}:
        names = globs_of(query.type)
    if not names:
        return []
    # A type, not --glob, which would bring back files that git ignores.
    return [*(f"--type-add=wanted:{name}" for name in names), "--type=wanted"]


class Complaints:
    """The messages of ripgrep on *stderr*, read beside its results: a full pipe would block it.

    *text* is its complaint about the pattern.
    """

    def __init__(self, stderr: IO[bytes]) -> None:
        self.text = ""
        self._stderr = stderr
        self._unreadable = 0
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def unreadable_files(self) -> int:
        """Wait for its end, and return how many files the system refused to open."""
        self._thread.join()
        return self._unreadable

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed: the search is over
            for line in self._stderr:
                if _SYSTEM_ERROR.search(line):
                    self._unreadable += _GONE not in line
                elif len(self.text) < MAX_STDERR:
                    self.text += line.decode(errors="replace")


def _name(lines: list[bytes], root: Path) -> bytes:
    """Return the name that ends in the last of *lines*.

    A name may hold line breaks; other lines are remarks on binary files.
    """
    for start in range(len(lines)):
        name = b"".join(lines[start:])
        if os.path.lexists(os.path.join(os.fsencode(root), name)):
            return name
    return lines[-1]


def _lines(stdout: IO[bytes], query: Query, root: Path) -> Iterator[Line]:
    if query.output == "files":
        for name in _until_nul(stdout):
            yield Line(path_of(name), 1)
        return
    pending: list[bytes] = []
    while raw := stdout.readline(READ_BYTES):
        rest = raw
        while not rest.endswith(b"\n") and rest:
            rest = stdout.readline(READ_BYTES)
        name, nul, tail = raw.partition(b"\0")
        if not nul:
            pending = [*pending[-MAX_BREAKS:], raw]
            continue
        if pending:
            name = _name([*pending, name], root)
            pending = []
        if query.output == "count":
            yield Line(path_of(name), int(tail))
            continue
        digits = len(tail) - len(tail.lstrip(b"0123456789"))
        text = tail[digits + 1 :].removesuffix(b"\n")
        is_match = tail[digits : digits + 1] == b":"
        yield Line(path_of(name), int(tail[:digits]), decode_line(text), is_match)


def _until_nul(stdout: IO[bytes]) -> Iterator[bytes]:
    pending = b""
    while chunk := stdout.read1(65_536):  # type: ignore[attr-defined]
        *names, pending = (pending + chunk).split(b"\0")
        yield from names
