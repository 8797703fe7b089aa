"""The parser of answers: CommonMark that preserves all characters of names and code."""

from nanocoder_kit_ui.markdown.parser import answer_parser

__all__ = ["answer_parser"]
