"""The placeholder of a secret: text that names its kind and cannot be mistaken for a value."""

import re
from collections.abc import Mapping
from typing import Any, Final

BEGINNING: Final = "[secret: "
PLACEHOLDER: Final = r"\[secret: [A-Za-z0-9_-]{2,80}\]"


def placeholder(kind: str) -> str:
    """Return the placeholder of a secret of *kind*, safe in JSON and shells' single quotes."""
    return f"{BEGINNING}{kind}]"


def placeholders_in(value: Any) -> list[str]:
    """Return the different placeholders in the texts of *value*, which is ready for JSON."""
    if isinstance(value, str):
        # Most calls have none, and a start should not wait for a pattern.
        matches = re.findall(PLACEHOLDER, value) if BEGINNING in value else []
        return list(dict.fromkeys(matches))
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return []
    return list(dict.fromkeys(text for item in value for text in placeholders_in(item)))
