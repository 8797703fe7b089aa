"""A cache of texts without a secret: each goes to the model, the journal and the screen."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from nanocoder_kit_files.redact.forms import ANCHORS

MAX_CHARS: Final = 1_000_000
"""Size limit of the cache, which is cleared beyond it."""
MAX_TEXT_CHARS: Final = 100_000
"""Length limit of a cached text."""
_ENTRY_CHARS: Final = 100
"""Overhead of an entry, in characters."""


class CleanTexts:
    """A cache of texts without a secret, valid for one set of known values.

    Threads share it: a race between a clear and an addition only costs another check.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self._parts = tuple(dict.fromkeys((*values, *ANCHORS)))
        self.texts: set[str] = set()
        self._size = 0

    def may_hold_secret(self, text: str) -> bool:
        """Return True if *text* contains a known value, or the anchor of a form."""
        for part in self._parts:  # noqa: SIM110 - `any` with a generator takes twice as long
            if part in text:
                return True
        return False

    def add(self, text: str) -> None:
        """Add *text*, which has no secret, to the cache."""
        if len(text) > MAX_TEXT_CHARS:
            return
        self._size += len(text) + _ENTRY_CHARS
        if self._size > MAX_CHARS:
            self.texts, self._size = set(), len(text) + _ENTRY_CHARS
        self.texts.add(text)


@lru_cache(maxsize=4)
def clean_texts(values: tuple[str, ...]) -> CleanTexts:
    """Return the texts without a secret that all redactors with these known values share."""
    return CleanTexts(values)
