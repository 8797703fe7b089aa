"""JSON of values without secrets: each text is looked at while it is encoded, and not once more."""

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, Final

try:
    from json.encoder import c_make_encoder  # type: ignore[attr-defined]
except ImportError:  # another implementation of Python
    c_make_encoder = None

SHORT_CHARS: Final = 200
"""The JSON of a longer text is not remembered: few come again."""
MAX_TEXTS: Final = 2_000
"""Limit of the cached texts; the cache is cleared beyond it."""


class SecretFoundError(Exception):
    """A text, or a key, holds a secret."""


class JsonTexts(dict[str, str]):
    """A cache of the JSON of short texts without a secret, by *holds_secret*.

    A lookup encodes a new text, and raises SecretFoundError for one with a secret. Threads may
    share it: a race between a clear and an addition only costs another check.
    """

    def __init__(self, holds_secret: Callable[[str], bool]) -> None:
        super().__init__()
        self._holds_secret = holds_secret

    def __missing__(self, text: str) -> str:
        if self._holds_secret(text):
            raise SecretFoundError
        encoded = encode_basestring(text)
        # A subclass may be equal to another text.
        if len(text) <= SHORT_CHARS and type(text) is str:
            if len(self) >= MAX_TEXTS:
                self.clear()
            self[text] = encoded
        return encoded


def json_of(value: Any, texts: JsonTexts) -> str:
    """Return *value* as `json.dumps` does, its texts and keys by *texts*.

    What JSON has no form for becomes its `str`. Raises: SecretFoundError, and as `json.dumps` does.
    """
    if c_make_encoder is None:
        raise SecretFoundError  # who asks looks at each text then, and takes longer
    # It calls back for texts alone, and a text that is remembered takes no call of Python.
    encode = c_make_encoder({}, str, texts.__getitem__, None, ":", ",", False, False, True)
    return "".join(encode(value, 0))
