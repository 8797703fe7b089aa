"""Show a waiting person how the weights are downloaded or joined, which happens once."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from nanocoder_provider_local.fetching import LIBRARY, library_folder

PERCENT: Final = 100
BEGIN: Final = (
    "nanocoder: {} the embedded model, once: {} into {} (Ctrl-C stops; the next time resumes)\n"
)
STEP_PERCENT: Final = 25  # without a terminal: a few lines, not a log full


def tell_loading(words: TextIO | None = None, answer: TextIO | None = None) -> None:
    """Print on a terminal that the model is being loaded, if no screen shows it."""
    words, answer = words or sys.stderr, answer or sys.stdout
    with suppress(AttributeError, OSError, ValueError):  # a stream may be closed
        if words.isatty() and not answer.isatty():
            _write(words, "loading the embedded model ...")


def tell_library() -> None:
    """Print that a missing library is downloaded."""
    with suppress(AttributeError, OSError, ValueError):
        _write(sys.stderr, f"downloading {LIBRARY}, once: 2 MB into {library_folder()}")


def _write(stream: TextIO, text: str) -> None:
    stream.write(f"nanocoder: {text}\n")
    stream.flush()


class Report:
    """A progress callback: one changing line on a terminal, a few plain lines elsewhere.

    Before the first of them it prints the size of the download, and *folder*.
    """

    def __init__(self, folder: Path, stream: TextIO | None = None) -> None:
        self._folder = folder
        self._stream = stream or sys.stderr
        self._line = self._stream.isatty()
        self._percent = -1

    def __call__(self, processed: int, total: int, deed: str) -> None:
        """Show *processed* of *total* bytes, when the percentage has changed enough to matter."""
        percent = processed * PERCENT // max(total, 1)
        if not self._line:
            percent -= percent % STEP_PERCENT
        if percent == self._percent:
            return
        size = f"{total / 1e9:.1f} GB"
        begin = "" if self._percent >= 0 else BEGIN.format(deed, size, self._folder)
        self._percent = percent
        text = f"nanocoder: {deed} the embedded model: {percent} % of {size}"
        end = "\n" if percent == PERCENT else ""
        self._stream.write(f"{begin}\r{text}{end}" if self._line else f"{begin}{text}\n")
        self._stream.flush()
