"""Globs as regular expressions that match in linear time.

Repositories and their rules are not trusted, so no pattern may backtrack without bounds. Pieces
between two stars have a fixed length: the first match of a piece leaves most to the rest, so it is
final (an atomic group). Each dialect of globs only translates its own syntax into the tokens of
`glob_expression`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

STAR: Final = "*"
"""The token for any characters inside one name."""
FOLDERS: Final = "**/"
"""The token for any number of whole folders; with STAR behind it, for any characters at all."""


def glob_expression(tokens: Iterable[str], *, in_name: str = "[^/]") -> str:
    """Return the regular expression of *tokens*, for a match of the whole text.

    A token is STAR, FOLDERS, or an expression for a fixed number of characters. *in_name* is the
    expression for one character inside a name.
    """
    groups: list[list[str]] = [[]]
    for token in tokens:
        if token != FOLDERS:
            groups[-1].append(token)
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    first, *deeper = (_pieces(group) for group in groups)
    if not deeper:
        return _to_end(first, in_name)
    expression = _shortest(first, in_name)
    for pieces in deeper[:-1]:
        expression += f"(?>(?:{in_name}*/)*?{_shortest(pieces, in_name)})"
    return expression + f"(?:{in_name}*/)*{_to_end(deeper[-1], in_name)}"


def _pieces(tokens: Sequence[str]) -> list[str]:
    """Return the expressions between the stars."""
    pieces = [""]
    for token in tokens:
        if token == STAR:
            pieces.append("")
        else:
            pieces[-1] += token
    return pieces


def _shortest(pieces: Sequence[str], in_name: str) -> str:
    """Return the expression for the shortest text with these pieces: any text may follow."""
    first, *rest = pieces
    return first + "".join(f"(?>{in_name}*?{piece})" for piece in rest if piece)


def _to_end(pieces: Sequence[str], in_name: str) -> str:
    """Return the expression for a text that ends with the last piece."""
    if len(pieces) == 1:
        return pieces[0]
    return f"{_shortest(pieces[:-1], in_name)}{in_name}*{pieces[-1]}"
