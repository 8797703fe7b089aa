"""Redaction of values that are ready for JSON: texts change, the structure does not."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from nanocoder_kit_redact.redactor import Redactor

PLACES: Final = frozenset(
    (
        *("path", "paths", "files_changed", "restored", "not_restored", "cwd", "artifact", "host"),
        *("id", "call_id", "session_id", "parent", "digest", "base64"),
    )
)
"""Keys of what names a place, a call or a file: without it the rest could not be used."""
NAMES: Final = frozenset({"tool", "name"})
"""Keys of names that a model may have made up; they stay words that a provider takes as a name."""
ARGUMENTS: Final = "arguments"
"""The key of what a model wrote: a path there is text as any other."""
_NO_LETTERS: Final = r"[^A-Za-z0-9_-]+"


def redact_value(value: Any, redactor: Redactor, *, keep: Collection[str] = PLACES) -> Any:
    """Return *value* with every text in it redacted, the very same if there is no secret.

    Names of keys stay, and so does what is under a key in *keep*, but not in arguments of calls.
    """
    if isinstance(value, str):
        redacted = redactor.redact(value)
        return value if redacted == value else redacted
    if isinstance(value, Mapping):
        new = {
            key: item if key in keep else _redact_item(key, item, redactor, keep)
            for key, item in value.items()
        }
        return value if all(new[key] is value[key] for key in new) else new
    if isinstance(value, list | tuple):
        items = [redact_value(item, redactor, keep=keep) for item in value]
        return value if all(map(_is_same, items, value)) else type(value)(items)
    return value


def _redact_item(key: str, item: Any, redactor: Redactor, keep: Collection[str]) -> Any:
    if key == ARGUMENTS:
        return redact_value(item, redactor, keep=())
    redacted = redact_value(item, redactor, keep=keep)
    if key in NAMES and isinstance(item, str) and redacted is not item:
        return re.sub(_NO_LETTERS, "_", redacted).strip("_")
    return redacted


def _is_same(new: Any, old: Any) -> bool:
    return new is old
