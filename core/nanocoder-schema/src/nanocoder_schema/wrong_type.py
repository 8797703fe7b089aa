"""The error for a value of the wrong type, and values as messages show them."""

from collections.abc import Mapping
from typing import Any

SHOWN_CHARS = 60


class WrongType(ValueError):
    """A value of the wrong type; *expected* names the right one."""

    def __init__(self, expected: str, value: Any, *, hint: str = "") -> None:
        text = f"expected {expected}, got {brief(value)}"
        super().__init__(f"{text} ({hint})" if hint else text)
        self.expected = expected
        self.hint = hint


def brief(value: Any) -> str:
    """Show a JSON value briefly: scalars as themselves, the rest by kind."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value) if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]!r}…"
    if isinstance(value, int) and abs(value) >= 10**SHOWN_CHARS:
        return "a huge number"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
