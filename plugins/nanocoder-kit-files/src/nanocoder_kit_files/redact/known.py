"""The secrets that are known by their value: of the environment, and keys that were read."""

import json
import re
import threading
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, quote_plus

_SECRET_PARTS: Final = (
    *("KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "COOKIE", "AUTH", "PRIVATE"),
    "SIGNATURE",
)
_SECRET_ENDS: Final = ("_PAT", "_DSN")
_PLACE_ENDS: Final = ("_FILE", "_PATH", "_DIR", "_SOCK", "_HOME", "_COMMAND")
SHORTEST: Final = 8
"""A shorter value may be any word of a text."""
SHORTEST_LINE: Final = 20
LONGEST: Final = 8_192


def is_secret_name(name: str) -> bool:
    """Return True if the value of a variable of this name is a secret."""
    upper = name.upper()
    return upper.endswith(_SECRET_ENDS) or any(map(upper.__contains__, _SECRET_PARTS))


def _names_a_path(name: str) -> bool:
    """Return True if a variable of this name has the path of a secret, not the secret."""
    upper = name.upper()
    return upper.endswith(_PLACE_ENDS) or upper == "XAUTHORITY"


class _Remembered:
    """The keys that this process has read, wherever they came from; never written anywhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.values: dict[str, str] = {}
        self.originals: set[str] = set()  # a provider reads its key for each request

    def add(self, value: str, kind: str) -> None:
        encodings = dict.fromkeys(_encodings(value), kind)
        with self._lock:
            # A short value, such as the key "none" of a server at home, has no encodings. A new
            # table invalidates the redactors' caches of texts without a secret.
            if not encodings.keys() <= self.values.keys():
                # A new table, because other threads may be iterating over the old one.
                self.values = {**self.values, **encodings}
            self.originals.add(value)


# One for the process: a key that one session reads must not appear in the journal of another.
_REMEMBERED: Final = _Remembered()


def remember(value: str, kind: str) -> None:
    """Redact *value* in all text from now on; *kind* is the text of its placeholder."""
    if value and value not in _REMEMBERED.originals:
        _REMEMBERED.add(value, re.sub(r"[^A-Za-z0-9_-]+", "-", kind).strip("-") or "key")


class KnownValues:
    """The secret values with their kinds: those of *environment*, and those of `remember`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._of_environment = {
            encoded: re.sub(r"[^A-Za-z0-9_-]", "-", name)
            for name, value in environment.items()
            if is_secret_name(name) and not _names_a_path(name) and not value.startswith("/")
            for encoded in _encodings(value)
        }
        self._seen: Mapping[str, str] = {}
        self._all = self._of_environment

    def current(self) -> Mapping[str, str]:
        """Return all of them, with those of `remember` so far."""
        remembered = _REMEMBERED.values
        if remembered is not self._seen:
            self._seen, self._all = remembered, {**self._of_environment, **remembered}
        return self._all


def _encodings(value: str) -> set[str]:
    """Return the encodings of a value in a text: plain, in JSON, in a URL; line by line."""
    lines = {value.strip()}
    if "\n" in value.strip():
        lines = {line for line in map(str.strip, value.splitlines()) if _is_secret_line(line)}
    encodings = {
        encoded
        for line in lines
        for encoded in (line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1])
    }
    encodings |= {encoded.replace("/", "\\/") for encoded in encodings}
    for line in lines:
        for encoded in (quote(line, safe=""), quote(line), quote_plus(line)):
            encodings |= {encoded, re.sub("%..", lambda code: code[0].lower(), encoded)}
    return {text for text in encodings if SHORTEST <= len(text) <= LONGEST}


def _is_secret_line(line: str) -> bool:
    return len(line) >= SHORTEST_LINE and " " not in line and not line.startswith("-----")
