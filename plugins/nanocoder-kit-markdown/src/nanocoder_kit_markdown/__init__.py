"""The parser of answers: CommonMark in which names and code keep all of their characters."""

from nanocoder_kit_markdown.parser import answer_parser

__all__ = ["answer_parser"]
