"""The dialect tutorial: read_file, write_file, bash and search; times in milliseconds."""

from nanocoder import Dialect, hookimpl
from nanocoder_kit_dialect import TableDialect, openai_tool

from nanocoder_dialect_tutorial.shapes import bash, read_file, search, write_file


@hookimpl
def nanocoder_dialects() -> list[Dialect]:
    """Offer the dialect tutorial."""
    return [TableDialect("tutorial", [read_file, write_file, bash, search], write=openai_tool)]
