"""Text files of any common encoding, which survive an edit byte for byte; whole pictures."""

from nanocoder_kit_files.text.checks import OBJECTIONS, Objections, TextChange, check_change
from nanocoder_kit_files.text.encodings import guess_encoding, legacy_encodings
from nanocoder_kit_files.text.lookalikes import (
    common_ends,
    fold,
    has_hidden,
    read_hidden,
    show_hidden,
    without_hidden,
)
from nanocoder_kit_files.text.notebook import Notebook, notebook_of
from nanocoder_kit_files.text.pictures import picture_problem
from nanocoder_kit_files.text.text_files import TextFile, decode, encode, is_binary, read_text_file

__all__ = [
    "OBJECTIONS",
    "Notebook",
    "Objections",
    "TextChange",
    "TextFile",
    "check_change",
    "common_ends",
    "decode",
    "encode",
    "fold",
    "guess_encoding",
    "has_hidden",
    "is_binary",
    "legacy_encodings",
    "notebook_of",
    "picture_problem",
    "read_hidden",
    "read_text_file",
    "show_hidden",
    "without_hidden",
]
