"""Many expressions of globs as one: most paths match none of them."""

import re
from collections.abc import Iterable
from typing import Final

NOTHING: Final = re.compile(r"(?!)")
"""An expression that matches no text."""


def any_of(expressions: Iterable[re.Pattern[str]]) -> re.Pattern[str]:
    """Return one expression for what one of *expressions* matches."""
    bodies = [f"(?:{each.pattern})" for each in expressions]
    return re.compile("|".join(bodies), re.DOTALL) if bodies else NOTHING
