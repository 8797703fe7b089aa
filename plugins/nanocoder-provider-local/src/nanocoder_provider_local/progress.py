"""Show a waiting person the progress of joining the weights, which happens once."""

import sys
from typing import Final, TextIO

PERCENT: Final = 100
STEP_PERCENT: Final = 25  # without a terminal: a few lines, not a log full


def tell_loading(words: TextIO | None = None, answer: TextIO | None = None) -> None:
    """Say on a terminal that the model is being loaded, if no screen draws it."""
    words, answer = words or sys.stderr, answer or sys.stdout
    try:
        if words.isatty() and not answer.isatty():
            words.write("nanocoder: loading the embedded model ...\n")
            words.flush()
    except (AttributeError, OSError, ValueError):
        return  # the stream is closed


class Report:
    """A progress callback: one changing line on a terminal, a few plain lines elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._line = self._stream.isatty()
        self._percent = -1

    def __call__(self, processed: int, total: int) -> None:
        """Show *processed* of *total* bytes, when the percentage has changed enough to matter."""
        percent = processed * PERCENT // max(total, 1)
        if not self._line:
            percent -= percent % STEP_PERCENT
        if percent == self._percent:
            return
        self._percent = percent
        text = f"nanocoder: preparing the embedded model, once: {percent} % of {total / 1e9:.1f} GB"
        self._stream.write(
            f"\r{text}" + ("\n" if percent == PERCENT else "") if self._line else f"{text}\n"
        )
        self._stream.flush()
