"""The dialect nano: read, write, edit and bash with absolute paths; times in milliseconds."""

from nanocoder import Dialect, hookimpl
from nanocoder_kit_dialect import TableDialect, anthropic_tool

from nanocoder_dialect_nano.batch import batch
from nanocoder_dialect_nano.shapes import SHAPES, TASK_AND_SKILL
from nanocoder_dialect_nano.texts import describe_failure

UNKNOWN = "Error: Unknown tool: {}"


@hookimpl
def nanocoder_dialects() -> list[Dialect]:
    """Offer the dialect nano."""
    shapes = [*SHAPES, batch, *TASK_AND_SKILL]
    return [
        TableDialect(
            "nano", shapes, unknown=UNKNOWN, render_failure=describe_failure, write=anthropic_tool
        )
    ]
