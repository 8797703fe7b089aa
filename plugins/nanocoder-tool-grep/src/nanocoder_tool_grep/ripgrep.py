"""Ripgrep as a process: its arguments, the lines that it prints, and how it ends."""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread, Timer
from typing import IO, Final, cast

from attrs import define, frozen
from nanocoder import Cancel, escape_path

from nanocoder_tool_grep.query import COUNTED, Line, Query, Stopped
from nanocoder_tool_grep.spellings import across_lines, names_returns

MAX_STDERR: Final = 4_000
MAX_BREAKS: Final = 255
"""Limit of the line breaks in a path; a name of a file has at most 255 bytes."""
_GONE: Final = b"(os error 2)"
_SYSTEM_ERROR: Final = re.compile(rb"\(os error \d+\)\s*$")
# A match of look-around that reaches into another line has no column.
_WHERE: Final = re.compile(rb"(\d+)(?::(?:(\d+):)?(\d+):|-(\d+)-)")
_TOO_SLOW: Final = b"PCRE2: error matching"
# No configuration and no ignore file, except the given one, may affect the search.
_ALWAYS: Final = (
    "--no-config",
    "--color=never",
    "--no-ignore",
    "--hidden",
    "--iglob=!.git",
    "--null",
    "--no-heading",
    "--with-filename",
)
_SEARCH: Final = (
    "--engine=auto",
    "--no-context-separator",
    "--max-columns=1",  # the text is read from the file itself
)
_MODES: Final = {
    "content": ("--line-number", "--column", "--byte-offset"),
    "files": ("--files-with-matches",),
    "count": ("--count",),
}
# Every file is named with its number of lines, except those with a NUL.
_PROFILE: Final = ("--count", "--include-zero", "--encoding=none")
# Lines that are no UTF-8, or have a "\r" inside.
_ODD_LINES: Final = ("--invert-match", "--line-regexp", "-e", r"[^\r]*\r?")


class BadPatternError(Exception):
    """Ripgrep does not understand the pattern."""


@frozen
class Place:
    """The target of one process: *where* is below *root*; *rules* is an ignore file, or None."""

    root: Path
    where: str = "./"
    rules: Path | None = None
    is_file: bool = False


@define
class Ripgrep:
    """The program, until *deadline* on the monotonic clock.

    *unreadable* counts the files that could not be opened, *too_slow* those that took too long.
    """

    program: str
    cancel: Cancel
    deadline: float
    unreadable: int = 0
    too_slow: int = 0

    def search(
        self, query: Query, at: Place, has: Callable[[str], bool], *, in_order: bool = False
    ) -> Generator[Line]:
        """Yield the matches of *query* in files that *has* accepts; by path if *in_order*.

        Raises: BadPatternError, Stopped at the deadline, Cancelled.
        """
        options = [*_SEARCH, *_MODES[query.output], *_options(query)]
        if at.is_file:
            options.append("--text")  # we checked it for NUL bytes; in a tree ripgrep does that
        if in_order:
            options.append("--sort=path")
        pattern = across_lines(query) if query.multiline else query.pattern
        with self._output([*options, "-e", pattern], at) as stdout:
            yield from _lines(stdout, query.output, has)

    def profile(self, at: Place, has: Callable[[str], bool], letters: str) -> dict[str, bool]:
        """Return the text files that *has* accepts; True for those with lines that are not UTF-8.

        Files with a NUL near their beginning are left out. *letters*, if not "", restricts the
        check to lines with these, which takes a third of the time. Raises: Stopped, Cancelled.
        """
        odd = ("--fixed-strings", "-e", letters) if letters else _ODD_LINES
        with self._output([*_PROFILE, *odd], at) as stdout:
            return {line.path: line.number > 0 for line in _lines(stdout, "count", has)}

    @contextlib.contextmanager
    def _output(self, options: Sequence[str], at: Place) -> Iterator[IO[bytes]]:
        rules = [f"--ignore-file={at.rules}"] if at.rules else []
        process = subprocess.Popen(
            [self.program, *_ALWAYS, *rules, *options, "--", at.where],
            cwd=at.root,
            env={"PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        late = Event()
        forget = self.cancel.on_set(process.kill)
        timer = Timer(max(0.0, self.deadline - time.monotonic()), _end, (process, late))
        timer.daemon = True
        timer.start()
        complaints = _Complaints(cast("IO[bytes]", process.stderr))
        with process:
            try:
                yield cast("IO[bytes]", process.stdout)
                complaints.wait()
                self.unreadable = max(self.unreadable, complaints.unreadable)
                self.too_slow = max(self.too_slow, complaints.too_slow)
                # Files that cannot be read make 2, too.
                if process.wait() == 2 and complaints.text:  # noqa: PLR2004 - ripgrep's for errors
                    raise BadPatternError(complaints.text)
            finally:
                timer.cancel()
                forget()
                process.kill()
        self.cancel.check()
        if late.is_set():
            raise Stopped


def _end(process: subprocess.Popen[bytes], late: Event) -> None:
    late.set()
    process.kill()


def _options(query: Query) -> Iterator[str]:
    if query.output == "content":
        # A thread buffers the matches of a file until all of it is searched.
        yield f"--max-count={COUNTED + 1}"
    if not names_returns(query):
        yield "--crlf"
    if query.context and query.output == "content":
        yield f"--context={query.context}"
    if query.multiline:
        yield "--multiline"
    if query.ignore_case:
        yield "--ignore-case"
    if query.is_plain and not query.multiline:
        yield "--fixed-strings"


class _Complaints:
    """The messages of ripgrep on *stderr*, read concurrently: a full pipe would block it.

    *text* is its error message about the pattern, *unreadable* counts the files that could not be
    opened, *too_slow* those that took too long.
    """

    def __init__(self, stderr: IO[bytes]) -> None:
        self.text = ""
        self.unreadable = self.too_slow = 0
        self._stderr = stderr
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for their end."""
        self._thread.join()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed: the search is over
            for line in self._stderr:
                if _SYSTEM_ERROR.search(line):
                    self.unreadable += _GONE not in line
                elif _TOO_SLOW in line:
                    self.too_slow += 1
                elif len(self.text) < MAX_STDERR:
                    self.text += line.decode(errors="replace")


def _lines(stdout: IO[bytes], output: str, has: Callable[[str], bool]) -> Iterator[Line]:
    if output == "files":
        paths = map(path_of, _until_nul(stdout))
        yield from (Line(path, 1) for path in paths if has(path))
        return
    pending: list[bytes] = []
    for raw in stdout:
        name, nul, tail = raw.partition(b"\0")
        if not nul:
            pending = [*pending[-MAX_BREAKS:], raw]
            continue
        path = _known_path([*pending, name], has)
        pending = []
        if path is not None:
            yield Line(path, int(tail)) if output == "count" else _line(path, tail)


def _line(path: str, tail: bytes) -> Line:
    """Read "NUMBER:COLUMN:OFFSET:" of a match, "NUMBER-OFFSET-" of a line around one."""
    where = _WHERE.match(tail)
    if where is None:
        raise ValueError(f"ripgrep printed a line that is not understood: {tail[:80]!r}")
    number, column, offset = int(where[1]), int(where[2] or 1), int(where[3] or where[4])
    is_match = where[3] is not None
    return Line(path, number, is_match=is_match, offset=offset, column=column - 1)


def _known_path(lines: list[bytes], has: Callable[[str], bool]) -> str | None:
    """Return the path that ends in the last of *lines*, or None if *has* accepts none.

    A name may contain line breaks; other lines are remarks on binary files.
    """
    paths = (path_of(b"".join(lines[start:])) for start in range(len(lines)))
    return next(filter(has, paths), None)


def path_of(name: bytes) -> str:
    """Return a path as the workspace writes it."""
    return escape_path(os.fsdecode(name.removeprefix(b"./")))


def _until_nul(stdout: IO[bytes]) -> Iterator[bytes]:
    pending = b""
    while chunk := stdout.read1(65_536):  # type: ignore[attr-defined]
        *names, pending = (pending + chunk).split(b"\0")
        yield from names
