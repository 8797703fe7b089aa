"""Refuse commands that would end nanocoder itself, as `pkill -f python` does.

This reads the command's text and computes nothing: only a sandbox with a PID namespace stops a
command that is written to end us.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from nanocoder import ToolError
from nanocoder_kit_process import SYSTEM_PATH, find_program
from nanocoder_kit_process.processes import lineage

KILLERS: Final = frozenset({"pkill", "killall"})
MAX_DEPTH: Final = 3
LOOK_S: Final = 2.0


def refuse_own_end(command: str) -> None:
    """Raise ToolError (ends_nanocoder) when a `pkill` or `killall` in *command* would find us."""
    for words in _killers(command, MAX_DEPTH):
        if _finds_us(words):
            raise ToolError(
                f"{shlex.join(words)!r} would end nanocoder itself; name the process by its id, or"
                " use a pattern that fits your program alone",
                error_class="ends_nanocoder",
            )


def _killers(text: str, depth: int) -> Iterator[list[str]]:
    """Yield the words of each call of such a program, those in a quoted script included."""
    if not depth or not any(name in text for name in KILLERS):
        return
    lexer = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=";|&()<>`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # quotes that do not end
        words = text.split()
    for at, word in enumerate(words):
        if os.path.basename(word) in KILLERS:
            yield [word, *_until_end(words[at + 1 :])]
        elif " " in word:
            yield from _killers(word, depth - 1)


def _until_end(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if set(word) <= set(";|&()<>`"):
            return
        yield word


def _finds_us(words: Sequence[str]) -> bool:
    options = [word for word in words[1:] if not _is_signal(word)]
    if os.path.basename(words[0]) == "killall":
        return _name() in options
    # pgrep lists the processes that pkill would end.
    program = find_program("pgrep", SYSTEM_PATH)
    if not program:
        return False
    try:
        listing = subprocess.run(
            [program, *options],
            env={"PATH": SYSTEM_PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LOOK_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    ours = {str(pid).encode() for pid in lineage(os.getpid()) if pid > 1}
    return not ours.isdisjoint(listing.stdout.split())


def _is_signal(word: str) -> bool:
    """Return True if an option names a signal, which pgrep does not know: -9, -KILL, --signal=9."""
    return word.startswith("--signal") or (
        word.startswith("-") and (word[1:].isdigit() or (word[1:].isupper() and len(word) > 2))  # noqa: PLR2004
    )


def _name() -> str:
    try:
        return Path("/proc/self/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "nanocoder"
