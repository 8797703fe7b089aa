"""What dialects share: shapes of tools, and the way there and back."""

from nanocoder_kit_dialect.shaped import Shaped
from nanocoder_kit_dialect.shapes import Arguments, Render, Shape, renamed, shape
from nanocoder_kit_dialect.vendor_forms import anthropic_tool, openai_tool
from nanocoder_kit_dialect.words import cut, in_words, said

__all__ = [
    "Arguments",
    "Render",
    "Shape",
    "Shaped",
    "anthropic_tool",
    "cut",
    "in_words",
    "openai_tool",
    "renamed",
    "said",
    "shape",
]
