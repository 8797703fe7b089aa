"""The prompt of `nanocoder run`: what was typed, and what comes through standard input.

`git diff | nanocoder run "review this"` sends both. An open pipe need not belong to us: a program
that cron or a build server starts may inherit one that nobody ever writes to or closes. So a pipe
has a moment to send something, unless `--stdin` says that there will be something.
"""

import os
import select
import stat
import sys
from typing import Final

from nanocoder.cli.output import complain
from nanocoder.errors import UsageError

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


def prompt_of(word: str | None, *, wait: bool | None = None) -> tuple[str, str | None]:
    """Return the prompt, and the part that was typed if that is not all of it.

    *word* "-" stands for standard input. *wait* says whether to read all of it (True), nothing
    (False), or what is there (None). Raises UsageError for an empty prompt, or too much input.
    """
    if word == "-":
        if sys.stdin is None:
            raise UsageError("there is no standard input to read the prompt from")
        text, typed = sys.stdin.buffer.read().decode("utf-8", "replace"), None
    else:
        piped = "" if wait is False else _piped(wait=bool(wait))
        typed = (word or "") if piped else None
        text = _joined(word or "", piped)
    if not text.strip():
        raise UsageError(EMPTY)
    return text, typed or None


def _joined(prompt: str, piped: str) -> str:
    """Return *prompt* with *piped* behind it, between two lines that *piped* does not contain."""
    if not piped.strip():
        return prompt
    if not prompt.strip():
        return piped
    tag = "stdin"
    while f"</{tag}>" in piped:
        tag += "-"
    end = "" if piped.endswith("\n") else "\n"
    return f"{prompt}\n\nStandard input:\n<{tag}>\n{piped}{end}</{tag}>"


def _piped(*, wait: bool) -> str:
    """Return what a file or a pipe sends through standard input; raises UsageError."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return ""
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if not (stat.S_ISREG(mode) or is_pipe or (wait and not os.isatty(descriptor))):
        return ""
    if is_pipe and not wait and not select.select([descriptor], [], [], FIRST_BYTE_S)[0]:
        complain(LEFT_OUT)
        return ""
    return _read(descriptor).decode("utf-8", "replace")


def _read(descriptor: int) -> bytes:
    pieces, size = [], 0
    try:
        while piece := os.read(descriptor, 65_536):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_BYTES:
                raise UsageError(TOO_LONG)
    except OSError:  # a socket whose other end broke off
        pass
    return b"".join(pieces)
