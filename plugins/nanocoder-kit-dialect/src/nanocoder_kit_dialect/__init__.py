"""What dialects share: shapes of tools, and the way there and back."""

from nanocoder_kit_dialect.shaped import Shaped
from nanocoder_kit_dialect.shapes import Arguments, Render, Shape, renamed, shape
from nanocoder_kit_dialect.words import cut, in_words, said

__all__ = [
    "Arguments",
    "Render",
    "Shape",
    "Shaped",
    "cut",
    "in_words",
    "renamed",
    "said",
    "shape",
]
