"""What a list of sessions shows of each, from the first and the last bytes of its journal."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder_files import open_private
from nanocoder_schema import Value

from nanocoder.session.records import Record, title_of

HEAD_BYTES: Final = 16_384
TAIL_BYTES: Final = 8_192
LONG_TAIL_BYTES: Final = 1_048_576  # for journals that end in a large record
PROMPT: Final = re.compile(rb'"(?:prompt|role":"user","(?:typed|text))":("(?:[^"\\]|\\.)*)')


@frozen(eq=False, repr=False)
class SessionSummary(Value):
    """One session; *started* and *updated* in seconds since the epoch, *size* in bytes.

    *title* is the name it was given, else the first words of *prompt*, which is its first prompt as
    far as it was read. *forked_from* is the id of the session whose messages it began with.
    """

    id: str
    started: float
    updated: float
    cwd: str
    model: str
    title: str
    turns: int
    size: int
    forked_from: str = ""
    prompt: str = ""

    def matches(self, words: Sequence[str]) -> bool:
        """Tell whether the title or the first prompt has all *words*, in upper or lower case."""
        text = f"{self.title}\n{self.prompt}".casefold()
        return all(word.casefold() in text for word in words)


def summary_of(path: Path) -> SessionSummary | None:
    """Summarise the journal at *path*; None when it is no journal, whatever else it is."""
    try:
        with os.fdopen(open_private(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = os.pread(file.fileno(), HEAD_BYTES, 0)
            first = Record.of_line(head[: head.find(b"\n") + 1])
            last = first and _last(file.fileno(), size)
    except OSError:
        return None
    if first is None:
        return None
    last, prompt = last or first, _prompt(head)
    cwd, model, forked_from, title = (
        str(first.data.get(name, "")) for name in ("cwd", "model", "forked_from", "title")
    )
    title = last.title or title or title_of(prompt)
    return SessionSummary(
        path.stem, first.at, last.at, cwd, model, title, last.turn, size, forked_from, prompt
    )


def _last(descriptor: int, size: int) -> Record | None:
    """Return the last whole record."""
    for length in (TAIL_BYTES, LONG_TAIL_BYTES):
        tail = os.pread(descriptor, length, max(0, size - length))
        for line in reversed(tail.splitlines(keepends=True)):
            if (record := Record.of_line(line)) is not None:
                return record
        if length >= size:
            break
    return None


def _prompt(head: bytes) -> str:
    """Return the first prompt, or its beginning when it is longer than *head*."""
    return next(filter(None, (_beginning(match.group(1)) for match in PROMPT.finditer(head))), "")


def _beginning(text: bytes) -> str:
    # A prompt that was cut may end within an escape or a character.
    for cut in range(len(text), max(1, len(text) - 12), -1):
        try:
            prompt = json.loads(text[:cut] + b'"')
        except ValueError:
            continue
        return str(prompt).encode("utf-8", "replace").decode()
    return ""
