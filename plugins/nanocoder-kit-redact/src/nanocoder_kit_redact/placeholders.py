"""What replaces a secret: text that names its kind and cannot be mistaken for a value."""

import re
from collections.abc import Mapping
from typing import Any, Final

PLACEHOLDER: Final = re.compile(r"\[secret: [A-Za-z0-9_-]{2,80}\]")


def placeholder(kind: str) -> str:
    """Return what replaces a secret of *kind*; JSON and shells' single quotes can hold it."""
    return f"[secret: {kind}]"


def placeholders_in(value: Any) -> list[str]:
    """Return the different placeholders in the texts of *value*, which is ready for JSON."""
    if isinstance(value, str):
        return list(dict.fromkeys(PLACEHOLDER.findall(value)))
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return []
    return list(dict.fromkeys(text for item in value for text in placeholders_in(item)))
