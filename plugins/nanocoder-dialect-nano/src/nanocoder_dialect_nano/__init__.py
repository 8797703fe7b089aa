"""The dialect nano: read, write, edit and bash with absolute paths; times in milliseconds."""

from nanocoder import Dialect, hookimpl
from nanocoder_kit_dialect import Shaped, anthropic_tool

from nanocoder_dialect_nano.several import batch
from nanocoder_dialect_nano.shapes import SHAPES, TASK_AND_SKILL
from nanocoder_dialect_nano.texts import failed

UNKNOWN = "Error: Unknown tool: {}"


@hookimpl
def nanocoder_dialects() -> list[Dialect]:
    """Offer the dialect nano."""
    shapes = [*SHAPES, batch, *TASK_AND_SKILL]
    return [Shaped("nano", shapes, unknown=UNKNOWN, failed=failed, write=anthropic_tool)]
