"""What plugins that shorten or measure a conversation share."""

from nanocoder_kit_context.parts import add_note, first_kept, latest_request
from nanocoder_kit_context.report import aligned, window_rows
from nanocoder_kit_context.sources import FILE_MARK, Source, prompt_files, sources_of

__all__ = [
    "FILE_MARK",
    "Source",
    "add_note",
    "aligned",
    "first_kept",
    "latest_request",
    "prompt_files",
    "sources_of",
    "window_rows",
]
