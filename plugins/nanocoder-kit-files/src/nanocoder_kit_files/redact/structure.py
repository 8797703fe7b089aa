"""Redaction of values that are ready for JSON: texts change, the structure does not."""

import re
from collections.abc import Collection, Mapping
from operator import is_
from typing import Any, Final

from nanocoder_kit_files.redact.known import SHORTEST
from nanocoder_kit_files.redact.redactor import Redactor

PLACES: Final = frozenset(
    (
        *("path", "paths", "files_changed", "restored", "not_restored", "cwd", "artifact", "host"),
        *("id", "call_id", "session_id", "parent", "digest", "base64"),
    )
)
"""Keys of paths and ids of calls, sessions and files, without which the rest is useless."""
NAMES: Final = frozenset({"tool", "name"})
"""Keys of names that a model may have made up; they stay words that a provider takes as a name."""
ARGUMENTS: Final = "arguments"
"""The key of a model's arguments, in which paths are redacted like other text."""
_NO_LETTERS: Final = r"[^A-Za-z0-9_-]+"
_NO_TEXTS: Final = frozenset({bool, float, int, type(None)})


def redact_value(value: Any, redactor: Redactor, *, keep: Collection[str] = PLACES) -> Any:
    """Return *value* with every text in it redacted, or *value* itself without a secret.

    Keys are unchanged, and so are values under a key in *keep*, except in arguments of calls.
    """
    return _redact(value, redactor, redactor.clean_texts, keep)


def _redact(value: Any, redactor: Redactor, clean: Collection[str], keep: Collection[str]) -> Any:
    if isinstance(value, str):
        redacted = redactor.redact(value)
        return value if redacted == value else redacted
    # A tuple of types asks dict first, which nearly all are.
    if isinstance(value, (dict, Mapping)):
        return _redact_mapping(value, redactor, clean, keep)
    if isinstance(value, list | tuple):
        items = [
            item
            if type(item) is str and (len(item) < SHORTEST or item in clean)
            else _redact(item, redactor, clean, keep)
            for item in value
        ]
        return value if all(map(is_, items, value)) else type(value)(items)
    return value


def _redact_mapping(
    value: Mapping[str, Any], redactor: Redactor, clean: Collection[str], keep: Collection[str]
) -> Mapping[str, Any]:
    changes = {}
    for key, item in value.items():
        # A call's records have hundreds of items: cached ones need no call here.
        if type(item) is str:
            if len(item) < SHORTEST or item in clean or key in keep:
                continue
        elif type(item) in _NO_TEXTS or key in keep:
            continue
        redacted = _redact_item(key, item, redactor, clean, keep)
        if redacted is not item:
            changes[key] = redacted
    return {**value, **changes} if changes else value


def _redact_item(
    key: str, item: Any, redactor: Redactor, clean: Collection[str], keep: Collection[str]
) -> Any:
    if key == ARGUMENTS:
        return _redact(item, redactor, clean, ())
    redacted = _redact(item, redactor, clean, keep)
    if key in NAMES and isinstance(item, str) and redacted is not item:
        return re.sub(_NO_LETTERS, "_", redacted).strip("_")
    return redacted
