"""Redaction of values that are ready for JSON: texts change, the structure does not."""

import re
from collections.abc import Collection, Mapping
from operator import is_
from typing import Any, Final

from nanocoder_kit_redact.known import SHORTEST
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
_NO_TEXTS: Final = frozenset({bool, float, int, type(None)})


def redact_value(value: Any, redactor: Redactor, *, keep: Collection[str] = PLACES) -> Any:
    """Return *value* with every text in it redacted, the very same if there is no secret.

    Names of keys stay, and so does what is under a key in *keep*, but not in arguments of calls.
    """
    if isinstance(value, str):
        redacted = redactor.redact(value)
        return value if redacted == value else redacted
    # A tuple of types asks dict first, which nearly all are.
    if isinstance(value, (dict, Mapping)):
        return _redact_mapping(value, redactor, keep)
    if isinstance(value, list | tuple):
        clean = redactor.clean_texts
        items = [
            item if _is_clean(item, clean) else redact_value(item, redactor, keep=keep)
            for item in value
        ]
        return value if all(map(is_, items, value)) else type(value)(items)
    return value


def _redact_mapping(
    value: Mapping[str, Any], redactor: Redactor, keep: Collection[str]
) -> Mapping[str, Any]:
    changes, clean = {}, redactor.clean_texts
    for key, item in value.items():
        if _is_clean(item, clean) or key in keep:
            continue
        redacted = _redact_item(key, item, redactor, keep)
        if redacted is not item:
            changes[key] = redacted
    return {**value, **changes} if changes else value


def _is_clean(item: Any, clean: Collection[str]) -> bool:
    """Tell whether *item* needs no look: a call's records have hundreds, and most were seen."""
    kind = type(item)
    return (len(item) < SHORTEST or item in clean) if kind is str else kind in _NO_TEXTS


def _redact_item(key: str, item: Any, redactor: Redactor, keep: Collection[str]) -> Any:
    if key == ARGUMENTS:
        return redact_value(item, redactor, keep=())
    redacted = redact_value(item, redactor, keep=keep)
    if key in NAMES and isinstance(item, str) and redacted is not item:
        return re.sub(_NO_LETTERS, "_", redacted).strip("_")
    return redacted
