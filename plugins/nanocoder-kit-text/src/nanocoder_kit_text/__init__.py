"""Text files of any common encoding, which survive an edit byte for byte."""

from nanocoder_kit_text.encodings import guess_encoding, legacy_encodings
from nanocoder_kit_text.text_files import TextFile, decode, encode, is_binary, read_text_file

__all__ = [
    "TextFile",
    "decode",
    "encode",
    "guess_encoding",
    "is_binary",
    "legacy_encodings",
    "read_text_file",
]
