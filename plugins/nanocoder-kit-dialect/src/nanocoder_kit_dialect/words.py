"""Words that dialects put together: cut to a size, in the names that the model knows."""

import re
from collections.abc import Mapping

from nanocoder import ToolResult

# Inside quotes, paths and longer words it is somebody else's word.
_BEFORE, _AFTER = r"(?<![\w./'\"-])", r"(?![\w/'\"-]|\.\w)"


def said(result: ToolResult) -> str:
    """Return what is wrong with a call that failed, without a prefix of ours."""
    return result.output.removeprefix("Error: ")


def in_words(text: str, words: Mapping[str, str]) -> str:
    """Put the names of a dialect into the first line of a message of ours.

    The lines beneath may be text of a file, and stay.
    """
    if not words:
        return text
    names = "|".join(map(re.escape, words))
    first, newline, rest = text.partition("\n")
    first = re.sub(f"{_BEFORE}(?:{names}){_AFTER}", lambda found: words[found[0]], first)
    return first + newline + rest


def cut(text: str, limit: int, mark: str) -> str:
    """Return *text*, or as much of its beginning as fits into *limit* characters with *mark*."""
    return text if len(text) <= limit else text[: limit - len(mark)] + mark
