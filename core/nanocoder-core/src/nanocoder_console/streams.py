"""The standard streams: safe output, and a prompt from a pipe.

`git diff | nanocoder run "review this"` has both. An open pipe may not be meant for us: a program
started by cron or a build server may inherit one that no process ever writes to or closes. So a
pipe has a short time to send something, unless `--stdin` promises input.
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
    """Standard error, redacted by *clean*."""

    clean: Callable[[str], str] = staticmethod(str)

    def write(self, text: str) -> int:
        """Write *text*, redacted by `clean`."""
        return super().write(self.clean(text))


def answers() -> TextIO:
    """Return standard output, also if it is reserved for JSON and `sys.stdout` is another."""
    is_kept = sys.stdout is sys.stderr and sys.__stdout__ is not None
    return sys.__stdout__ if is_kept else sys.stdout  # type: ignore[return-value]


def print_json(value: Any) -> None:
    """Print *value* as one JSON document."""
    answers().write(json.dumps(value, indent=2, default=str) + "\n")


def print_line(text: str = "") -> None:
    """Print one line with terminal control characters escaped."""
    sys.stdout.write(for_terminal(text) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print aligned rows below their heads; numbers are aligned to the right.

    In a narrow terminal the last column is wrapped at words, and if too little width remains for
    it, each row becomes lines with the head and the cell. Otherwise a row is a line.
    """
    texts = [[" ".join(for_terminal(str(cell)).split("\n")) for cell in row] for row in rows]
    columns = [[title, *cells] for title, *cells in zip(head, *texts, strict=True)]
    # One long value must not push the next columns out of view.
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

    A longer word stays whole, so that a person can copy it.
    """
    import textwrap  # only a narrow terminal needs it

    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
    return f"\n{' ' * indent}".join(lines)


def is_terminal(stream: TextIO | None) -> bool:
    """Return True if *stream* is a terminal, False if it is closed or None."""
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
    """Ask a person to confirm; return true for a yes, false for other answers and end of input."""
    try:
        return input(f"{question} [y/N] ").strip().casefold() in {"y", "yes"}
    except (EOFError, KeyboardInterrupt) as end:
        print_line()  # ends the line of the question
        if isinstance(end, EOFError):
            return False
        raise


def complain(message: str) -> None:
    """Write a message for a person to stderr, escaped for a terminal and wrapped at spaces.

    A closed stderr is no error.
    """
    with suppress(OSError, ValueError, AttributeError):
        # Before wrapping: a secret may contain a space.
        text = getattr(sys.stderr, "clean", str)(f"nanocoder: {for_terminal(message)}")
        with suppress(OSError):  # no terminal
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or len(text)
            text = "\n".join(_folded(line, columns) for line in text.split("\n"))
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def prompt_of(word: str | None, *, wait: bool | None = None) -> tuple[str, str | None]:
    """Return the prompt, and the part that was typed, or None if that is all of it.

    *word* "-" means standard input. *wait* True reads all of it, False nothing, None only a pipe
    that sends soon. Raises: UsageError for an empty prompt, or too much input.
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
    """Return *prompt* followed by *piped* between marker lines that *piped* does not contain."""
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
    import select  # needed only for a pipe

    if is_pipe and not wait and not select.select([descriptor], [], [], FIRST_BYTE_S)[0]:
        complain(LEFT_OUT)
        return ""
    content = bytearray()
    with suppress(OSError):  # a reset socket; earlier input counts
        while len(content) <= MAX_BYTES and (piece := os.read(descriptor, 65_536)):
            content += piece
    if len(content) > MAX_BYTES:
        raise UsageError(TOO_LONG)
    return content.decode("utf-8-sig", "replace")
