"""The words of a command that could name a path, as a shell and its programs read them.

`Text` splits a command at every sign that could end a word, so that no program hides in it. A path
may hold such signs: this reads words with spaces, options with a path, `~`, and what `/proc` has.
"""

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Final, NamedTuple

from nanocoder_policy_rules.operands import HAS_PARTS, paths_in
from nanocoder_policy_rules.shell import compile_once, remember
from nanocoder_policy_rules.spellings import (
    replace_variables,
    spellings,
    spellings_without_escapes,
)

# A substitution in double quotes may hold more of them.
_PARTS = (
    r"(?P<end>[;&|\n(){}]+)|(?P<space>[\s<>]+)"
    r"|(?P<word>(?:\\[\s\S]|'[^']*+'|\"(?:[^\"\\`$]|\\[\s\S]|`[^`]*+`|\$\([^()]*+\)|\$)*+\""
    r"|\$\{[^{}\s]*+\}|[^\s;&|<>(){}\\'\"]|[\\'\"])+)"
)
# Without the sign and the end of a line that may be behind them.
_BLANK = r"[^\S\n]+"
# A redirection of output, and its target, are no words of a command.
_OUTPUT = (
    r"(?P<output>(?:\d+|&)?>[>|]?&?[^\S\n]*(?:\\[\s\S]|'[^']*+'|\"[^\"\\`$]*+\"|[\w./$~+@%:,-])+)"
)
_GAPS = r"[\s<>;&|(){}]+"
_ONE_COMMAND = r" *+[A-Za-z0-9_@%+=:,./^-][A-Za-z0-9_@%+=:,./^ -]*+"
"""A text with no other signs is one command, with spaces between its words."""
_MARKS = r"[\\'\"$`\1]"
"""A text with none of these is its words, with gaps between them."""
_COMPOUND = rf"{HAS_PARTS}|~|/proc/"
_QUOTED = r"'([^']*+)'|\"((?:[^\"\\]|\\[\s\S])*+)\"|\\([\s\S])"
_COMPUTED = (
    r"\$\([^()]*+\)|`[^`]*+`|\$\{[^{}]*+\}|\$(?:[A-Za-z_]\w*+|[0-9@*#?!$-])|\$(?=\Z|[\s('\"])|`"
)
_ASSIGNMENT = r"[A-Za-z_]\w*+\+?=.*"
_HOME_OF = r"~([A-Za-z_][\w.-]{0,31})?(/.*)?"
_HERE_OR_BEFORE = r"~[+-](/.*)?"
_OF_PROCESS = r"/proc/[^/]+/(?:task/[^/]+/)?(cwd|root)(/.*)?"
_SPACED = r"\s"
_LITERAL_DOLLAR: Final = "\1"
MAX_WORDS: Final = 4_000

WILD: Final = frozenset("*?[")
_ANYTHING: Final = ("*", "?", "[!", "[^")
# These look at the names of files, and not into them.
_ONLY_NAMES: Final = frozenset(
    (
        *("ls", "rm", "rmdir", "mkdir", "chmod", "chown", "chgrp", "stat", "du", "echo", "printf"),
        *("find", "test", "[", "[[", "touch", "realpath", "readlink", "basename", "dirname"),
        *("git rm", "git ls-files", "git status", "git clean", "git check-ignore"),
    )
)
# What these print or keep names no file until another program gets it.
_PLAIN: Final = frozenset(
    (
        *("echo", "printf", "export", "local", "declare", "readonly", "return", "exit", "test"),
        *("[", "[[", "kill", "sleep", "let", "set", "true", "false", ":", "case", "in", "shift"),
        *("wait", "unset", "seq", "basename", "dirname"),
    )
)
_MESSAGES_OF_GIT: Final = frozenset(("commit", "tag", "branch", "rev-parse", "config"))
_LEADING: Final = frozenset(
    ("do", "then", "else", "elif", "if", "while", "until", "!", "time", "sudo", "env", "command")
)
_OPENING: Final = frozenset(("if", "while", "until", "for", "select"))
_CLOSING: Final = frozenset(("fi", "done"))
_KEYWORDS: Final = _OPENING | _CLOSING | {"then", "else", "elif", "do", "!", "time"}
_SHELLS: Final = frozenset(("bash", "sh", "dash", "zsh", "ksh", "eval"))


class Token(NamedTuple):
    """A word without its quotes, with `*` for what is *computed*, and the *program* it is for."""

    word: str
    program: str
    computed: bool


def words_of(text: str, first: Iterable[str]) -> list[str]:
    """Return *first*, words of a command, and all others that could name a path.

    A list that is too long has one more word than `MAX_WORDS`.
    """
    words = dict.fromkeys(first)
    words.update(dict.fromkeys(_plain_tokens(text)))
    for word in filter(compile_once(_COMPOUND).search, list(words)):
        words.update(dict.fromkeys(paths_in(word)))
        if "~" in word or "/proc/" in word:
            words.update(dict.fromkeys(_spelled_out(word)))
        if len(words) > MAX_WORDS:
            break
    words.pop("", None)
    return list(words)[: MAX_WORDS + 1]


@remember
def _plain_tokens(text: str) -> tuple[str, ...]:
    """Return the words of *text*, quotes removed, that are known before it runs."""
    words: dict[str, None] = {}
    for reading in spellings(text) if compile_once(_SPACED).search(text) else ():
        if compile_once(_MARKS).search(reading):
            words.update((token.word, None) for token in tokens(reading) if not token.computed)
        else:
            words.update(dict.fromkeys(compile_once(_GAPS).split(reading)))
    return tuple(words)


def names_something(word: str) -> bool:
    """Tell whether a name in *word* has a wildcard, and letters before it."""
    if WILD.isdisjoint(word):
        return False
    wild = (part.lstrip(".") for part in word.split("/") if not WILD.isdisjoint(part))
    return any(not part.startswith(_ANYTHING) for part in wild)


def expand_home(word: str) -> str:
    """Return *word* with the home directory for `~` and `~user` at its beginning."""
    if match := compile_once(_HERE_OR_BEFORE).fullmatch(word):
        return f".{match[1] or ''}"
    return os.path.expanduser(word) if word[:1] == "~" else word


def _spelled_out(word: str) -> Iterator[str]:
    """Yield the path that `~` or a link in /proc stands for."""
    for part in (word, word.rpartition("=")[2], word.rpartition(":")[2], word.lstrip("-@+<>")):
        at_home = compile_once(_HOME_OF).fullmatch(part)
        if at_home or compile_once(_HERE_OR_BEFORE).fullmatch(part):
            yield expand_home(part)
        # A process of the command has the directories of the command, not ours.
        if match := compile_once(_OF_PROCESS).fullmatch(part):
            rest = (match[2] or "").lstrip("/")
            yield rest or "." if match[1] == "cwd" else f"/{rest}"


def tokens(text: str) -> Iterator[Token]:
    """Yield the words of *text* in their order, quotes removed."""
    program, words = "", 0
    keeps_single = not any(shell in text for shell in _SHELLS)
    for match in compile_once(_PARTS).finditer(text):
        if match.lastgroup == "end":
            program, words = "", 0
        if match.lastgroup != "word":
            continue
        raw = match[0]
        unquoted = _unquote(raw, keeps_single=keeps_single)
        pattern = compile_once(_COMPUTED).sub("*", unquoted)
        word = pattern.replace(_LITERAL_DOLLAR, "$")
        computed = pattern != unquoted
        yield Token(word, program, computed)
        if not words and not (word in _LEADING or compile_once(_ASSIGNMENT).fullmatch(word)):
            program = word.rpartition("/")[2]
        elif words == 1 and program == "git":
            program = f"git {word}"
        words = words + 1 if program else 0


@remember
def commands_in(text: str) -> tuple[tuple[list[str], bool], ...]:
    """Return the words of each command in *text*, and whether it reads from a pipe.

    A group of commands after a pipe reads from it as a whole.
    """
    return tuple(_commands_in(text))


def _commands_in(text: str) -> Iterator[tuple[list[str], bool]]:
    for reading in spellings(text) if "$'" in text else spellings_without_escapes(text):
        if compile_once(_ONE_COMMAND).fullmatch(reading):
            yield reading.split(), False
            continue
        keeps_single = not any(shell in reading for shell in _SHELLS)
        is_marked = compile_once(_MARKS).search(reading) is not None
        words, is_piped, depth = list[str](), False, 0
        for match in compile_once(f"{_BLANK}|{_OUTPUT}|{_PARTS}").finditer(reading):
            if match.lastgroup == "word":
                word = match[0]
                words.append(_word_of(word, keeps_single=keeps_single) if is_marked else word)
            elif match.lastgroup == "end":
                if words:
                    yield words, is_piped
                signs = match[0]
                depth = max(0, depth + _opened(words))
                depth = max(0, depth + signs.count("{") + signs.count("(") - signs.count("}"))
                depth = max(0, depth - signs.count(")"))
                has_pipe = "|" in signs.replace("||", "")
                is_piped = has_pipe or (is_piped and (not words or depth > 0))
                words = []
        if words:
            yield words, is_piped


def _opened(words: Iterable[str]) -> int:
    """Count the compound commands that *words* begin, less those that end there."""
    keywords = list(takewhile(_KEYWORDS.__contains__, words))
    return sum(map(_OPENING.__contains__, keywords)) - sum(map(_CLOSING.__contains__, keywords))


def _word_of(raw: str, *, keeps_single: bool) -> str:
    if _QUOTES.isdisjoint(raw) and _LITERAL_DOLLAR not in raw:
        return raw
    return _unquote(raw, keeps_single=keeps_single).replace(_LITERAL_DOLLAR, "$")


def wild_words(text: str, words: Iterable[str]) -> Iterator[str]:
    """Yield those of *words* with wildcards whose files a command of *text* may read.

    `ls *` and `rm *` only name what is there.
    """
    wild = [word for word in words if not WILD.isdisjoint(word)]
    users: dict[str, set[str]] = {}
    for spelling in spellings(text) if wild else ():
        for token in _nested_tokens(spelling):
            users.setdefault(token.word, set()).add(token.program)
    for word in wild:
        is_nested = "/" in word and word not in users
        if names_something(word) or is_nested or users.get(word, set()) - _ONLY_NAMES:
            yield word


def _nested_tokens(text: str) -> Iterator[Token]:
    for token in tokens(text):
        yield token
        if compile_once(_SPACED).search(token.word):
            yield from tokens(token.word)


def computed_paths(text: str) -> tuple[str, ...]:
    """Return patterns for words of *text* that are known only when it runs, and may name a file."""
    return _all_computed_paths(text) if "$" in text or "`" in text else ()


@remember
def _all_computed_paths(text: str) -> tuple[str, ...]:
    return tuple(_computed_paths(text))


def _computed_paths(text: str) -> Iterator[str]:
    for token in tokens(replace_variables(text)):
        if not token.computed or token.program in _PLAIN:
            continue
        if not token.program and compile_once(_ASSIGNMENT).fullmatch(token.word):
            continue
        git, _, subcommand = token.program.partition(" ")
        if not (git == "git" and subcommand in _MESSAGES_OF_GIT):
            yield token.word


def could_be(pattern: str, names: Iterable[str]) -> bool:
    """Tell whether the known letters in a word fit one of *names*, which are patterns, too."""
    parts = [part for part in pattern.casefold().split("/") if set(part) - {"*"}]
    wild = [part for part in parts if "*" in part]
    samples = [name.replace("*", "") for name in names]
    return any(fnmatchcase(sample, part) for part in wild for sample in samples)


def _unquote(raw: str, *, keeps_single: bool) -> str:
    if _QUOTES.isdisjoint(raw):
        return raw

    def inside(quoted: re.Match[str]) -> str:
        if quoted[1] is not None:
            return quoted[1].replace("$", _LITERAL_DOLLAR) if keeps_single else quoted[1]
        if quoted[2] is not None:
            return compile_once(_QUOTED_ESCAPE).sub(r"\1", quoted[2])
        return _LITERAL_DOLLAR if quoted[3] == "$" else quoted[3].strip("\n")

    return compile_once(_QUOTED).sub(inside, raw)


_QUOTES: Final = frozenset("'\"\\")
_QUOTED_ESCAPE: Final = r"\\([\"\\$`])"
