"""Git's ignore patterns as regular expressions over bytes, which is what git compares."""

import re
from typing import Final

from nanocoder_kit_glob.expressions import FOLDERS, STAR, glob_expression

_ENCODING: Final = "latin-1"
"""Maps each byte to one character, so that expressions are built as text."""

_SPECIAL = frozenset(b"*?[\\")
_CLASSES = {
    b"alnum": b"[A-Za-z0-9]",
    b"alpha": b"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": b"[0-9]",
    b"graph": b"[!-~]",
    b"lower": b"[a-z]",
    b"print": b"[ -~]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t-\r]",
    b"upper": b"[A-Z]",
    b"xdigit": b"[0-9A-Fa-f]",
}
_STARS, _SLASH, _ESCAPED_SLASH = "**", "/", r"\/"


class Malformed(ValueError):
    """The pattern matches nothing, as git sees it."""


def translate(pattern: bytes, *, matches_path: bool) -> bytes:
    """Return the expression for `fullmatch` against a path, or a name where not *matches_path*.

    Raises: Malformed.
    """
    if not matches_path:
        return glob_expression(_in_name(_tokens(pattern))).encode(_ENCODING)
    literal = _literal_length(pattern)
    # Git compares the literal start by itself, and what follows counts as a start of its own:
    # "foo**/bar" is "foo" and then "**/bar".
    head, rest = pattern[:literal], pattern[literal:]
    return re.escape(head) + _path(_tokens(rest)).encode(_ENCODING)


def _literal_length(pattern: bytes) -> int:
    return next((i for i, byte in enumerate(pattern) if byte in _SPECIAL), len(pattern))


def _path(tokens: list[str]) -> str:
    """Translate segments; "**" as a whole segment stands for folders, at the end for all below."""
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


def _tokens(pattern: bytes) -> list[str]:
    """Cut *pattern* into "*", "**" (two or more), "/" and expressions for one byte."""
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        token, at = _token(pattern, at)
        tokens.append(token)
    return tokens


def _token(pattern: bytes, at: int) -> tuple[str, int]:
    byte = pattern[at : at + 1]
    if byte == b"*":
        end = at
        while pattern[end : end + 1] == b"*":
            end += 1
        return (_STARS if end - at > 1 else STAR), end
    if byte == b"?":
        return "[^/]", at + 1
    if byte == b"[":
        return _bracket(pattern, at + 1)
    if byte == b"/":
        return _SLASH, at + 1
    if byte == b"\\":
        at += 1
        byte = pattern[at : at + 1]
        if not byte:
            raise Malformed("a backslash ends the pattern")
        if byte == b"/":
            return _ESCAPED_SLASH, at + 1
    return re.escape(byte.decode(_ENCODING)), at + 1


def _bracket(pattern: bytes, at: int) -> tuple[str, int]:
    """Translate the bracket expression whose content begins at *at*, in the way git reads one."""
    negated = pattern[at : at + 1] in {b"!", b"^"}
    at += negated
    members: set[int] = set()
    previous, first = 0, True
    while first or pattern[at : at + 1] != b"]":
        first = False
        previous, at = _member(pattern, at, previous, members)
    members.discard(ord("/"))
    inside = "".join(f"\\x{byte:02x}" for byte in sorted(members))
    if negated:
        return f"[^/{inside}]", at + 1
    return (f"[{inside}]" if inside else "(?!)"), at + 1


def _member(pattern: bytes, at: int, previous: int, members: set[int]) -> tuple[int, int]:
    """Add one member; return where a following "-" would range from (0: nowhere), and the rest."""
    byte = _byte(pattern, at)
    after = pattern[at + 1 : at + 2]
    if byte == ord("\\"):
        byte = _byte(pattern, at + 1)
        members.add(byte)
        return byte, at + 2
    if byte == ord("-") and previous and after and after != b"]":
        at += 2 if after == b"\\" else 1
        members.update(range(previous, _byte(pattern, at) + 1))
        return 0, at + 1
    if byte == ord("[") and after == b":":
        return _class(pattern, at, members)
    members.add(byte)
    return byte, at + 1


def _class(pattern: bytes, at: int, members: set[int]) -> tuple[int, int]:
    start = at + 2
    end = pattern.find(b"]", start)
    if end < 0:
        raise Malformed("a class is not closed")
    if end == start or pattern[end - 1 : end] != b":":
        members.add(ord("["))
        return ord("["), at + 1
    name = _CLASSES.get(pattern[start : end - 1])
    if name is None:
        raise Malformed("there is no such class")
    members.update(byte for byte in range(1, 256) if re.match(name, bytes((byte,))))
    return 0, end + 1


def _byte(pattern: bytes, at: int) -> int:
    if at >= len(pattern):
        raise Malformed("a bracket is not closed")
    return pattern[at]
