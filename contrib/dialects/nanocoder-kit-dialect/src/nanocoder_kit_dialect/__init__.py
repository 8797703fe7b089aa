"""The base of dialects: tables of tools with other names, and the translation both ways."""

from nanocoder_kit_dialect.answer_text import cut, error_text, replace_names
from nanocoder_kit_dialect.shapes import Arguments, Render, Shape, rename, shape
from nanocoder_kit_dialect.table_dialect import TableDialect
from nanocoder_kit_dialect.vendor_forms import anthropic_tool, openai_tool

__all__ = [
    "Arguments",
    "Render",
    "Shape",
    "TableDialect",
    "anthropic_tool",
    "cut",
    "error_text",
    "openai_tool",
    "rename",
    "replace_names",
    "shape",
]
