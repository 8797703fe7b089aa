"""What a shell or an interpreter may read in the place of a text: variables, names, escapes."""

import re
from collections.abc import Callable
from typing import Final

from nanocoder_policy_rules.shell import compiled

# Quantifiers are bounded or possessive: the time grows with the length of the text, no faster.
_ASSIGNMENTS = (
    r"(?<![\w$-])([A-Za-z_]\w*+)=(?:'([^']{0,64})'|\"([^\"$`]{0,64})\"|([\w./:~*-]{1,64}))"
)
_VARIABLES = r"\$(?:\{([A-Za-z_]\w*+)(?::?[-=+]([^}\s]{1,64}+)|[^}\s]{0,64}+)\}|([A-Za-z_]\w*+))"
_HERE = r"\$\(\s*pwd\s*\)|`\s*pwd\s*`"
_ESCAPES = r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|([ntrvf_]))"
# What gives a program another name: the shell, git by its options or its environment, and files.
_RENAMES = r"alias|GIT_CONFIG_KEY_|hash\s|(?:ln|cp|mv|link|install)\s"
_ALIASES = (
    r"\balias(?:\.|\s++)([\w.-]{1,64}+)['\"]{0,2}="
    r"(?:['\"]?'([^']{1,64})'|['\"]?\"([^\"]{1,64})\"|([^\s'\";&|]{1,64}))"
)
_GIT_SETTINGS = (
    r"\bGIT_CONFIG_(KEY|VALUE)_(\d{1,4}+)=(?:'([^']{1,64})'|\"([^\"]{1,64})\"|([^\s;&|]{1,64}))"
)
_NEW_FILES = r"(?<![\w.-])(?:hash|ln|cp|mv|link|install)\s([^;&|\n]*+)"
_PROGRAM = r"s?bin/|\$\(|`"
_NAME = r"(?<![\w./-])(?:\./)?+[\w.-]++(?![/=])"
_LIST = r"\{([^{}]*+)\}"
_KNOWN: Final = {"HOME": ("~",), "PWD": (".",), "IFS": (" ",)}
_MAX_REPLACED: Final = 200
_MAX_WORDS: Final = 64
_MAX_NAME: Final = 64
_MAX_WORD_CHARS: Final = 512


def spellings(text: str) -> list[str]:
    """Return *text*, and each text that it may stand for."""
    found = [text]
    changes: tuple[Callable[[str], str], ...] = (replaced, renamed, _decoded, _expanded)
    for change in changes:
        found.append(change(found[-1]))
    return list(dict.fromkeys(found))


def replaced(text: str) -> str:
    """Put what is assigned in *text* in the place of its variables.

    A variable with several values stands for all of them; one that is not assigned stays.
    """
    if "pwd" in text:
        text = compiled(_HERE).sub(".", text)
    if "$" not in text:
        return text
    values = {name: list(value) for name, value in _KNOWN.items()}
    for name, *value in compiled(_ASSIGNMENTS).findall(text):
        values.setdefault(name, []).append("".join(value))

    def value_of(variable: re.Match[str]) -> str:
        known = values.get(variable[1] or variable[3], [variable[2] or variable[0]])
        return " ".join(dict.fromkeys(known))

    return compiled(_VARIABLES).sub(value_of, text, count=_MAX_REPLACED)


def renamed(text: str) -> str:
    """Put programs in the place of the names that *text* itself gives them."""
    if not compiled(_RENAMES).search(text):
        return text
    names = {name: "".join(value) for name, *value in compiled(_ALIASES).findall(text)}
    settings = {
        (kind, number): "".join(value)
        for kind, number, *value in compiled(_GIT_SETTINGS).findall(text)
    }
    for (kind, number), key in settings.items():
        if kind == "KEY" and key.startswith("alias."):
            names[key.removeprefix("alias.")] = settings.get(("VALUE", number), "")
    for words in compiled(_NEW_FILES).findall(text):
        if compiled(_PROGRAM).search(words):
            *_, old, new = ["", "", *compiled(r"[\s'\"`$()]++").sub(" ", words).split()]
            names[new.rpartition("/")[2]] = old
    names = {name: value for name, value in names.items() if name and 0 < len(value) <= _MAX_NAME}
    if not names:
        return text

    def program_of(word: re.Match[str]) -> str:
        return names.get(word[0].removeprefix("./"), word[0])

    return compiled(_NAME).sub(program_of, text)


def _decoded(text: str) -> str:
    """Read the escapes of `$'…'`, of `printf` and of most languages."""
    return compiled(_ESCAPES).sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2]
    if escape[4]:
        return "\n" if escape[4] == "n" else " "
    return chr(int(digits, 16) if digits else int(escape[3], 8))


def _expanded(text: str) -> str:
    """Write `{a,b}c` as the words that it stands for."""
    if "{" not in text or "," not in text:
        return text
    return "".join(map(_without_lists, compiled(r"([\s;&|]+)").split(text)))


def _without_lists(word: str) -> str:
    if "{" not in word or "," not in word or len(word) > _MAX_WORD_CHARS:
        return word
    waiting, words = [word], list[str]()
    while waiting and len(words) + len(waiting) < _MAX_WORDS:
        current = waiting.pop(0)
        inner = compiled(_LIST).search(current)
        if inner is None:
            words.append(current)
            continue
        before, after = current[: inner.start()], current[inner.end() :]
        waiting[:0] = [before + each + after for each in inner[1].split(",")]
    return " ".join([*words, *waiting])
