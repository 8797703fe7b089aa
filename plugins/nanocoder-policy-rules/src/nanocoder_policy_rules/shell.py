"""A strict recogniser of shell commands: what it does not know for certain, it does not know.

It reads a small part of the language in which every character has one meaning: plain and quoted
words without expansions, joined by `&&`, `||`, `;` and `|`, and three harmless redirections. All
else, from `$` to a newline, makes the whole text unknown. So there is nothing to be out-guessed.
"""

import re
from functools import cache
from typing import Final, NamedTuple

MAX_CHARS: Final = 4_096

_WORDS = (
    r"(?P<space> +)"
    r"|(?P<quiet>(?:2?>/dev/null|2>&1)(?=[ ;|&]|\Z))"
    r"|(?P<join>&&|\|\||;|\|)"
    r"""|(?P<word>(?:[A-Za-z0-9_@%+=:,./^-]|'[ -&(-~]*'|"[ #%-\[\]^_a-~]*")+)"""
)
_QUOTED = r"'([^']*)'|\"([^\"]*)\""
_IFS = r"\$\{?IFS\}?"
_LITTER = r"\\\n|[\\'\"]"
_BREAKS = r"[;&|\n]+"
_GAPS = r"[\s(){}<>$`!=:,@\[\]*?#~]+"


class Simple(NamedTuple):
    """One program and its arguments, quotes removed; *join* stands before it, "" at the start."""

    join: str
    words: tuple[str, ...]


def commands(text: str) -> list[Simple] | None:
    """Return the commands of *text* in order; None when any part of it is unknown."""
    if len(text) > MAX_CHARS:
        return None
    found: list[Simple] = []
    words: list[str] = []
    join, position, is_apart = "", 0, True
    next_token = _compiled(_WORDS).match
    while position < len(text):
        token = next_token(text, position)
        if token is None:
            return None
        position = token.end()
        if token.lastgroup == "word":
            words.append(_word(token[0], is_first=not words))
        elif token.lastgroup == "quiet" and not (is_apart and words):
            return None
        elif token.lastgroup == "join":
            found.append(Simple(join, tuple(words)))
            join, words = token[0], []
        is_apart = token.lastgroup == "space"
    if words or join != ";":
        found.append(Simple(join, tuple(words)))
    # An empty command is a mistake, or something that we do not see.
    return found if all(simple.words and simple.words[0] for simple in found) else None


def _word(raw: str, *, is_first: bool) -> str:
    if "'" not in raw and '"' not in raw:
        return raw
    # A program whose name is quoted hides something.
    return "" if is_first else _compiled(_QUOTED).sub(lambda part: part[1] or part[2] or "", raw)


def raw_segments(text: str) -> list[list[str]]:
    """Return every word that *text* could be hiding, by command, to look for what is denied.

    Quotes and backslashes are removed, and whatever may end a word does: too much is found rather
    than too little.
    """
    bare = _compiled(_LITTER).sub("", _compiled(_IFS).sub(" ", text))
    gaps = _compiled(_GAPS)
    parts = ([word for word in gaps.split(part) if word] for part in _compiled(_BREAKS).split(bare))
    return [words for words in parts if words]


# Compiled at their first use: this module is imported at every start.
_compiled = cache(re.compile)
