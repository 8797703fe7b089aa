"""A strict recogniser of shell commands: a text that it does not know for certain is unknown.

It reads a small part of the language in which every character has one meaning: plain and quoted
words without expansions, joined by `&&`, `||`, `;` and `|`, and three harmless redirections. All
else, from `$` to a newline, makes the whole text unknown. So no trick can be misread as harmless.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, wraps
from typing import Final, NamedTuple, TypeVar

R = TypeVar("R")
MAX_CHARS: Final = 4_096
MAX_KEPT: Final = 128
_FORGETTING: Final[list[Callable[[], None]]] = []
SHOWN_CHARS: Final = 60

_WORDS = (
    r"(?P<space> +)"
    r"|(?P<quiet>(?:2?>/dev/null|2>&1)(?=[ ;|&]|\Z))"
    r"|(?P<join>&&|\|\||;|\|)"
    r"|(?P<word>(?:[A-Za-z0-9_@%+=:,./^-]|(?<=[A-Za-z0-9_@^~])~"  # HEAD~1, but not ~/x
    r"""|'[ -&(-~]*'|"[ #%-\[\]^_a-~]*")+)"""
)
_QUOTED = r"'[^']*'|\"[^\"]*\""
_JOINS = r"(&&|\|\||[;|])"
_PLAIN = r"[A-Za-z0-9_@%+=:,./^ ;|&-]*+"
# Without quotes `>` is known in `>/dev/null` and `>&1` alone, and many commands write a file.
_WRITING = r"[^'\">]*+>(?!/dev/null|&1)[^'\"]*+"
_QUIET = r"2?>/dev/null|2>&1"
_ENDS = r"[;&|\n]+"
ASSIGNMENT: Final = r"[A-Za-z_][A-Za-z0-9_]*\+?=.*"


class Simple(NamedTuple):
    """One program and its arguments, quotes removed; *join* is before it, "" at the start."""

    join: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Return the words as one line."""
        return " ".join(self.words)


def remember(function: Callable[[str], R]) -> Callable[[str], R]:
    """Keep what *function* says of the latest texts: a command is judged several times.

    The results must not be changed; what is too long to be recognised is not kept.
    """
    cached = lru_cache(maxsize=MAX_KEPT)(function)
    _FORGETTING.append(cached.cache_clear)

    @wraps(function)
    def call(text: str) -> R:
        return cached(text) if len(text) <= MAX_CHARS else function(text)

    return call


def forget_commands() -> None:
    """Forget what was kept, to measure how long it takes without."""
    for forget in _FORGETTING:
        forget()


@remember
def commands(text: str) -> "Sequence[Simple] | None":
    """Return the commands of *text* in order; None when any part of it is unknown."""
    if len(text) > MAX_CHARS or compile_once(_WRITING).fullmatch(text):
        return None
    return _split(text) if compile_once(_PLAIN).fullmatch(text) else _read(text)[0]


def _split(text: str) -> list[Simple] | None:
    """Return the commands of a text without quotes and redirections, as `_read` does."""
    parts = ["", *compile_once(_JOINS).split(text.rstrip().removesuffix(";"))]
    simples: list[Simple] = []
    for at in range(0, len(parts), 2):
        join, part = parts[at : at + 2]
        words = tuple(part.split())
        if not words or "&" in part or compile_once(ASSIGNMENT).fullmatch(words[0]):
            return None
        simples.append(Simple(join, words))
    return simples


def unknown_part(text: str) -> tuple[str, str]:
    """Return the first part of *text* that is not recognised, and the command it is in."""
    if len(text) > MAX_CHARS:
        return f"{len(text):,} characters", clip_line(text)
    position = _read(text)[1]
    ends = [*compile_once(_ENDS).finditer(text)]
    start = max([0, *(each.end() for each in ends if each.start() <= position)])
    end = min([len(text), *(each.start() for each in ends if each.start() > position)])
    part, command = text[position : position + 1].strip(" "), text[start:end]
    # A file that is written matters more than one that is read.
    is_written = part == "<" and ">" in compile_once(f"{_QUOTED}|{_QUIET}").sub("", command)
    return ">" if is_written else part, clip_line(command or text)


def clip_line(text: str) -> str:
    """Return *text* as one short line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"


def _read(text: str) -> tuple[list[Simple] | None, int]:
    """Return the commands of *text*, and the position where recognition stops."""
    simples: list[Simple] = []
    words: list[str] = []
    join, position = "", 0
    next_token = compile_once(_WORDS).match
    while position < len(text):
        token = next_token(text, position)
        if token is None:
            return None, position
        if token.lastgroup == "word":
            word = _word(token[0], is_first=not words)
            if not word and not words:
                return None, position
            words.append(word)
        elif token.lastgroup == "quiet" and not (words and text[position - 1] == " "):
            return None, position
        elif token.lastgroup == "join":
            simples.append(Simple(join, tuple(words)))
            join, words = token[0], []
        position = token.end()
    if words or join != ";":
        simples.append(Simple(join, tuple(words)))
    # An empty command is a mistake, or hides something that this does not recognise.
    return (simples if all(simple.words for simple in simples) else None), position


def _word(raw: str, *, is_first: bool) -> str:
    """Return a word without its quotes; "" for a first word that hides the program."""
    if is_first and ("'" in raw or '"' in raw or compile_once(ASSIGNMENT).fullmatch(raw)):
        return ""
    return compile_once(_QUOTED).sub(lambda quoted: quoted[0][1:-1], raw)


@cache
def compile_once(expression: str) -> re.Pattern[str]:
    """Return *expression*, compiled at its first use: this module is imported at every start."""
    return re.compile(expression)
