"""Git's ignore patterns as regular expressions over bytes, which git compares, too."""

import re
from typing import Final

from nanocoder_kit_files.glob.brackets import MalformedBracket, read_bracket
from nanocoder_kit_files.glob.expressions import FOLDERS, STAR, glob_expression

_ENCODING: Final = "latin-1"
"""Maps each byte to one character, so that expressions are built as text."""

_SPECIAL = frozenset("*?[\\")
_STARS, _SLASH, _ESCAPED_SLASH = "**", "/", r"\/"


class Malformed(ValueError):
    """The pattern matches nothing, as git sees it."""


def translate(pattern: bytes, *, matches_path: bool) -> bytes:
    """Return the expression for `fullmatch` against a path, or a name where not *matches_path*.

    Raises: Malformed.
    """
    text = pattern.decode(_ENCODING)
    if not matches_path:
        return glob_expression(_in_name(_tokens(text))).encode(_ENCODING)
    literal = next((i for i, letter in enumerate(text) if letter in _SPECIAL), len(text))
    # Git compares the literal prefix separately, and treats the rest as a new pattern:
    # "foo**/bar" is "foo" and then "**/bar".
    head, rest = text[:literal], text[literal:]
    return (re.escape(head) + _path(_tokens(rest))).encode(_ENCODING)


def _path(tokens: list[str]) -> str:
    """Translate segments; a segment "**" matches any folders, at the end everything below."""
    *folders, last = _split(tokens)
    translated: list[str] = []
    for segment in folders:
        translated += [FOLDERS] if segment == [_STARS] else [*_in_name(segment), _SLASH]
    if last == [_STARS]:
        return glob_expression(translated) + ".*"
    return glob_expression([*translated, *_in_name(last)])


def _in_name(tokens: list[str]) -> list[str]:
    """Return *tokens* with "**" inside a name as "*", which is how git reads it."""
    return [STAR if token == _STARS else token for token in tokens]


def _split(tokens: list[str]) -> list[list[str]]:
    segments: list[list[str]] = [[]]
    for token in tokens:
        if token == _ESCAPED_SLASH and segments[-1] == [_STARS]:
            segments[-1:] = [[STAR], [_STARS], []]  # git wants at least one directory here
        elif token in {_SLASH, _ESCAPED_SLASH}:
            segments.append([])
        else:
            segments[-1].append(token)
    return segments


def _tokens(pattern: str) -> list[str]:
    """Cut *pattern* into "*", "**" (two or more), "/" and expressions for one byte."""
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        token, at = _token(pattern, at)
        tokens.append(token)
    return tokens


def _token(pattern: str, at: int) -> tuple[str, int]:
    letter = pattern[at]
    if letter == "*":
        end = at
        while pattern[end : end + 1] == "*":
            end += 1
        return (_STARS if end - at > 1 else STAR), end
    if letter == "?":
        return "[^/]", at + 1
    if letter == "[":
        try:
            return read_bracket(pattern, at + 1)
        except MalformedBracket as error:
            raise Malformed(str(error)) from None
    if letter == "/":
        return _SLASH, at + 1
    if letter == "\\":
        at += 1
        letter = pattern[at : at + 1]
        if not letter:
            raise Malformed("a backslash ends the pattern")
        if letter == "/":
            return _ESCAPED_SLASH, at + 1
    return re.escape(letter), at + 1
