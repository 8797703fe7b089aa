"""The size of a model, by its name or its server's metadata."""

import re
from typing import Final

SMALL_BILLIONS: Final = 4.0
"""Largest number of parameters for the small profile, in billions; measured with 1.5."""
# In billions, with a "b", or in millions: one expression, because a start compiles it.
_SIZE: Final = r"(?<![\w.])(?:e?(\d{1,4}(?:\.\d{1,3})?)b|\d{2,3}m)(?![a-z0-9])"


def is_small(text: str) -> bool:
    """Return True if *text*, such as `qwen2.5-coder:1.5b` or `8.2B`, names a small model.

    The largest number decides: 30b-a3b activates 3 billion parameters, but has 30.
    """
    sizes = [float(billions or 0) for billions in re.findall(_SIZE, text.lower())]
    return bool(sizes) and max(sizes) <= SMALL_BILLIONS
