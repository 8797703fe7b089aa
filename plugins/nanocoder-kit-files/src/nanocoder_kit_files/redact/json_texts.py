"""JSON of values without secrets: each text is checked while it is encoded, and only once."""

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, Final

try:
    from json.encoder import c_make_encoder  # type: ignore[attr-defined]
except ImportError:  # another implementation of Python
    c_make_encoder = None

SHORT_CHARS: Final = 200
"""Length limit of a cached text: longer ones rarely recur."""
MAX_TEXTS: Final = 2_000
"""Limit of the cached texts; the cache is cleared beyond it."""


class SecretFoundError(Exception):
    """A text or a key contains a secret."""


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
    """Return *value* like `json.dumps`, its texts and keys by *texts*.

    Values without a JSON form become their `str`. Raises: SecretFoundError, and the errors of
    `json.dumps`.
    """
    if c_make_encoder is None:
        raise SecretFoundError  # the caller then redacts each text, which takes longer
    # It calls back only for texts, and a cached text needs no Python call.
    encode = c_make_encoder({}, str, texts.__getitem__, None, ":", ",", False, False, True)
    return "".join(encode(value, 0))
