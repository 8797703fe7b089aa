"""The dialect m31a: tools with capital letters, times in seconds, `cat -n` numbering."""

from nanocoder import Dialect, hookimpl
from nanocoder_kit_dialect import TableDialect, openai_tool

from nanocoder_dialect_m31a.shapes import SHAPES

UNKNOWN = 'Error: unknown tool "{}"; the tools are ' + ", ".join(shape.name for shape in SHAPES)
MISSING = 'Error: the tool "{}" is not installed'


@hookimpl
def nanocoder_dialects() -> list[Dialect]:
    """Offer the dialect m31a."""
    return [TableDialect("m31a", SHAPES, unknown=UNKNOWN, missing=MISSING, write=openai_tool)]
