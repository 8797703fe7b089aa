"""Texts for answers of dialects: cut to a size, with the names that the model knows."""

import re
from collections.abc import Mapping

from nanocoder import ToolResult

# A name inside quotes, a path or a longer word is not a parameter of ours.
_BEFORE, _AFTER = r"(?<![\w./'\"-])", r"(?![\w/'\"-]|\.\w)"


def error_text(result: ToolResult) -> str:
    """Return the problem of a failed call, without our prefix."""
    return result.output.removeprefix("Error: ")


def replace_names(text: str, words: Mapping[str, str]) -> str:
    """Replace our names by a dialect's in the first line of one of our messages.

    The lines below may be text of a file, so they stay.
    """
    if not words:
        return text
    names = "|".join(map(re.escape, words))
    first, newline, rest = text.partition("\n")
    first = re.sub(f"{_BEFORE}(?:{names}){_AFTER}", lambda match: words[match[0]], first)
    return first + newline + rest


def cut(text: str, limit: int, mark: str) -> str:
    """Return *text*, or as much of its beginning as fits into *limit* characters with *mark*."""
    return text if len(text) <= limit else text[: limit - len(mark)] + mark
