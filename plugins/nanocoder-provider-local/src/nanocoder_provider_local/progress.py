"""Show a waiting person how the weights are downloaded or joined, which happens once."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from nanocoder import Notice

from nanocoder_provider_local.fetching import LIBRARY, library_folder

PERCENT: Final = 100
LOADS: Final = "loading the embedded model"
BEGIN: Final = "{} the embedded model, once: {} into {} (Ctrl-C stops; the next time resumes)"
STEP_PERCENT: Final = 25  # without a terminal: a few lines, not a log full


def tell_loading(words: TextIO | None = None, answer: TextIO | None = None) -> None:
    """Print on a terminal that the model is being loaded, if no screen shows it."""
    words, answer = words or sys.stderr, answer or sys.stdout
    with suppress(AttributeError, OSError, ValueError):  # a stream may be closed
        if words.isatty() and not answer.isatty():
            _write(words, f"{LOADS} ...")


def _write(stream: TextIO, text: str) -> None:
    stream.write(f"nanocoder: {text}\n")
    stream.flush()


class Report:
    """A progress callback: notices where a screen draws them, else lines on standard error.

    These are one changing line on a terminal, and a few plain lines elsewhere. The first notice,
    or line, has the size of the download, and *folder*.
    """

    def __init__(
        self, folder: Path, words: TextIO | None = None, answer: TextIO | None = None
    ) -> None:
        self._folder = folder
        self._words = words or sys.stderr
        self._is_line = self._words.isatty()
        self._is_drawn = self._is_line and (answer or sys.stdout).isatty()
        self._percent = -1

    def __call__(self, processed: int, total: int, deed: str) -> list[Notice]:
        """Show *processed* of *total* bytes, when the percentage has changed enough to matter.

        Returns the notices that the screen has to draw.
        """
        percent = processed * PERCENT // max(total, 1)
        if not self._is_line:
            percent -= percent % STEP_PERCENT
        if percent == self._percent:
            return []
        size = f"{total / 1e9:.1f} GB"
        begin = "" if self._percent >= 0 else BEGIN.format(deed, size, self._folder)
        self._percent = percent
        text = f"{deed} the embedded model: {percent} %"
        if self._is_drawn:  # a line of ours would tear the lines that it repaints
            now = Notice(LOADS if percent == PERCENT else text, is_passing=True)
            return [Notice(begin), now] if begin else [now]
        begin = begin and f"nanocoder: {begin}\n"
        line = f"nanocoder: {text} of {size}"
        if self._is_line:
            line = "\r" + line
        end = "" if self._is_line and percent < PERCENT else "\n"
        self._words.write(f"{begin}{line}{end}")
        self._words.flush()
        return []

    def tell_library(self) -> list[Notice]:
        """Say that a missing library is downloaded; returns the notices that the screen draws."""
        text = f"downloading {LIBRARY}, once: 2 MB into {library_folder()}"
        if self._is_drawn:
            return [Notice(text)]
        with suppress(AttributeError, OSError, ValueError):
            _write(self._words, text)
        return []
