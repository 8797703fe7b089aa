"""The standard streams: what is printed, made safe first, and a prompt that comes in by a pipe.

`git diff | nanocoder run "review this"` sends both. An open pipe need not belong to us: a program
that cron or a build server starts may inherit one that no process ever writes to or closes. So a
pipe has a moment to send something, unless `--stdin` says that there will be something.
"""

import json
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, Final, TextIO

from nanocoder_schema import UsageError, for_terminal

MIN_COLUMNS: Final = 20
WIDE: Final = 60
"""The widest column of a table, in characters."""
FIRST_BYTE_S: Final = 3.0
MAX_BYTES: Final = 1_000_000
EMPTY: Final = 'the prompt is empty; write what to do, as in: nanocoder run "Explain main.py"'
LEFT_OUT: Final = (
    f"standard input sent nothing within {FIRST_BYTE_S:g} s and is ignored;"
    " --stdin waits for it, --no-stdin never reads it"
)
TOO_LONG: Final = (
    f"standard input has more than {MAX_BYTES:,} bytes; put it into a file in the workspace and"
    " name the file in the prompt"
)


class CleanedStream(TextIOWrapper):
    """Standard error: *clean* takes the secrets out of each text."""

    clean: Callable[[str], str] = staticmethod(str)

    def write(self, text: str) -> int:
        """Write *text* as `clean` leaves it."""
        return super().write(self.clean(text))


def answers() -> TextIO:
    """Return standard output, also where it is kept for JSON and `sys.stdout` is another."""
    is_kept = sys.stdout is sys.stderr and sys.__stdout__ is not None
    return sys.__stdout__ if is_kept else sys.stdout  # type: ignore[return-value]


def print_json(value: Any) -> None:
    """Print *value* as one JSON document."""
    answers().write(json.dumps(value, indent=2, default=str) + "\n")


def print_line(text: str = "") -> None:
    """Print one line, with anything that could steer a terminal made visible."""
    sys.stdout.write(for_terminal(text) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows below their heads, aligned; numbers to the right.

    In a narrow terminal the last column is wrapped at words, and where too little room stays for
    it, each row becomes lines with the head and the cell. Elsewhere a row is a line.
    """
    texts = [[" ".join(for_terminal(str(cell)).split("\n")) for cell in row] for row in rows]
    columns = [[title, *cells] for title, *cells in zip(head, *texts, strict=True)]
    # One long value must not push what follows it out of sight.
    widths = [min(WIDE, max(map(len, column))) for column in columns]
    room = terminal_width()
    rest = room - sum(widths[:-1]) - 2 * len(widths[:-1])
    if room and rest < min(MIN_COLUMNS, widths[-1]):
        for name, cell in (pair for row in texts for pair in zip(head, row, strict=True)):
            indent = "" if name == head[0] else "  "
            sys.stdout.write(f"{indent}{_folded(f'{name}: {cell}', room - 4, 4)}\n")
        return
    for place, column in enumerate(columns):
        is_right = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        align = str.rjust if is_right else str.ljust
        column[:] = [align(cell, widths[place]) for cell in column]
    if room:
        columns[-1][:] = [_folded(cell.rstrip(), rest, room - rest) for cell in columns[-1]]
    for cells in zip(*columns, strict=True):
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _folded(text: str, width: int, indent: int = 0) -> str:
    """Return *text* in lines of *width* columns, all but the first behind *indent* spaces.

    A longer word is cut in a table alone: elsewhere a person may copy it.
    """
    import textwrap  # only a narrow terminal needs it

    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=indent > 0)
    return f"\n{' ' * indent}".join(lines)


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether *stream* is a terminal; one that is closed or missing is none."""
    with suppress(OSError, ValueError):
        return stream is not None and os.isatty(stream.fileno())
    return False


def terminal_width() -> int:
    """Return the width of standard output in columns; 0 if it is not a terminal."""
    if not is_terminal(sys.stdout):
        return 0
    import shutil  # only tables on a terminal need it

    return max(shutil.get_terminal_size().columns, MIN_COLUMNS)


def is_agreed(question: str) -> bool:
    """Ask for a yes; anything else is a no, an end of input too."""
    try:
        return input(f"{question} [y/N] ").strip().casefold() in {"y", "yes"}
    except (EOFError, KeyboardInterrupt) as end:
        print_line()  # what comes next would stand behind the question
        if isinstance(end, EOFError):
            return False
        raise


def complain(message: str) -> None:
    """Write a message for a person to stderr, made safe for a terminal and wrapped at its spaces.

    A closed stderr is no error.
    """
    with suppress(OSError, ValueError, AttributeError):
        # Before lines end elsewhere: a secret may have a space.
        text = getattr(sys.stderr, "clean", str)(f"nanocoder: {for_terminal(message)}")
        with suppress(OSError):  # no terminal
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or len(text)
            text = "\n".join(_folded(line, columns) for line in text.split("\n"))
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def prompt_of(word: str | None, *, wait: bool | None = None) -> tuple[str, str | None]:
    """Return the prompt, and the part that was typed if that is not all of it.

    *word* "-" stands for standard input. *wait* says whether to read all of it (True), nothing
    (False), or what is there (None). Raises UsageError for an empty prompt, or too much input.
    """
    if word == "-":
        text, typed = sys.stdin.buffer.read().decode("utf-8-sig", "replace"), None
    else:
        piped = "" if wait is False else _piped_text(wait=bool(wait))
        text, typed = _joined_prompt(word or "", piped), word if piped else None
    if not text.strip():
        raise UsageError(EMPTY)
    return text, typed or None


def _joined_prompt(prompt: str, piped: str) -> str:
    """Return *prompt* with *piped* behind it, between two lines that *piped* does not contain."""
    if not (piped.strip() and prompt.strip()):
        return piped if piped.strip() else prompt
    tag = "stdin"
    while f"</{tag}>" in piped:
        tag += "-"
    end = "" if piped.endswith("\n") else "\n"
    return f"{prompt}\n\nStandard input:\n<{tag}>\n{piped}{end}</{tag}>"


def _piped_text(*, wait: bool) -> str:
    """Read standard input if it is a file or a pipe, else ""; raises UsageError if too long."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return ""
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if not (stat.S_ISREG(mode) or is_pipe or (wait and not os.isatty(descriptor))):
        return ""
    import select  # only a pipe is waited for

    if is_pipe and not wait and not select.select([descriptor], [], [], FIRST_BYTE_S)[0]:
        complain(LEFT_OUT)
        return ""
    content = bytearray()
    with suppress(OSError):  # a socket whose other end broke off; what came before counts
        while len(content) <= MAX_BYTES and (piece := os.read(descriptor, 65_536)):
            content += piece
    if len(content) > MAX_BYTES:
        raise UsageError(TOO_LONG)
    return content.decode("utf-8-sig", "replace")
