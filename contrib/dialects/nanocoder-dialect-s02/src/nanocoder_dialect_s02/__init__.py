"""The dialect s02: bash, read_file, write_file and edit_file, with short answers."""

from nanocoder import Dialect, hookimpl
from nanocoder_kit_dialect import TableDialect, anthropic_tool

from nanocoder_dialect_s02.shapes import bash, edit_file, read_file, write_file

WORDS = {"old_string": "old_text", "new_string": "new_text"}


@hookimpl
def nanocoder_dialects() -> list[Dialect]:
    """Offer the dialect s02."""
    shapes = [bash, read_file, write_file, edit_file]
    return [TableDialect("s02", shapes, words=WORDS, write=anthropic_tool)]
