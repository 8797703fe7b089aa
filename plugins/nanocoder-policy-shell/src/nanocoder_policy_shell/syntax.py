"""The syntax tree of a command, by tree-sitter, within a limit of time and length."""

import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_CHARS: Final = 4_096
"""A longer command is not parsed: the parser's time grows with the square of some texts."""
LIMIT_S: Final = 0.25
_CHUNK_BYTES: Final = 65_536


class TooLongError(Exception):
    """The text is too long, or too tangled, to be parsed in time."""


def parse(text: str) -> "Node":
    """Return the root of the tree of *text*; raises TooLongError."""
    from tree_sitter import Parser

    if len(text) > MAX_CHARS:
        raise TooLongError
    source = encode(text)
    until = time.monotonic() + LIMIT_S

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _CHUNK_BYTES]

    def is_late(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001 - the parser's own form
        return time.monotonic() > until

    # A parser is for one thread at a time, and cheap.
    try:
        tree = Parser(_language()).parse(read, progress_callback=is_late)
    except ValueError:
        raise TooLongError from None
    return tree.root_node


def encode(text: str) -> bytes:
    """Return *text* as the parser reads it; half of a surrogate pair is one byte."""
    return text.encode(errors="replace")


def text_of(node: "Node") -> str:
    """Return the source text of *node*."""
    return (node.text or b"").decode(errors="replace")


def descendants(root: "Node") -> "Iterator[Node]":
    """Yield all nodes below *root*, and *root*, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
