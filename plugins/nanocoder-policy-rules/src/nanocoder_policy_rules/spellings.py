"""Other readings of a text by a shell or an interpreter: variables, aliases, escapes."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from nanocoder_policy_rules.shell import compile_once, remember

# Quantifiers are bounded or possessive, so that the time grows only with the length of the text.
_ASSIGNMENTS = (
    r"(?<![\w$-])([A-Za-z_]\w*+)=(?:'([^']{0,64})'|\"([^\"$`]{0,64})\"|([\w./:~*-]{1,64}))"
)
_VARIABLES = r"\$(?:\{([A-Za-z_]\w*+)(?::?[-=+]([^}\s]{1,64}+)|[^}\s]{0,64}+)\}|([A-Za-z_]\w*+))"
_LOOPS = r"\bfor\s++([A-Za-z_]\w*+)\s++in\s++([^;\n$`]{1,256})"
_GIT_FOLDER = (
    r"(?:\$\(|`)\s*git\s+rev-parse\s+(?:--[a-z-]+=\S+\s+)?"
    r"(?:--(?:absolute-)?git-dir|--git-common-dir|--git-path\s+([\w./-]+))\s*[)`]"
)
_GIT_TOP = r"(?:\$\(|`)\s*git\s+rev-parse\s+--show-(?:toplevel|cdup)\s*[)`]"
_HERE = r"\$\(\s*pwd\s*\)|`\s*pwd\s*`"
_ESCAPES = r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|([ntrvf_]))"
# A program gets another name by the shell, by git's options or environment, and by new files.
_RENAMES = r"alias|GIT_CONFIG_KEY_|hash\s|(?:ln|cp|mv|link|install)\s"
_ALIASES = (
    r"\balias(?:\.|\s++)([\w.-]{1,64}+)['\"]{0,2}="
    r"(?:['\"]?'([^']{1,64})'|['\"]?\"([^\"]{1,64})\"|([^\s'\";&|]{1,64}))"
)
_GIT_SETTINGS = (
    r"\bGIT_CONFIG_(KEY|VALUE)_(\d{1,4}+)=(?:'([^']{1,64})'|\"([^\"]{1,64})\"|([^\s;&|]{1,64}))"
)
_NEW_FILES = r"(?<![\w.-])(?:hash|ln|cp|mv|link|install)\s([^;&|\n]*+)"
_SEPARATORS = r"\bIFS=\$?['\"]?([^\s'\";&|\\$]{1,8}+)"
_PROGRAM = r"s?bin/|\$\(|`"
_NAME = r"(?<![\w./-])(?:\./)?+[\w.-]++(?![/=])"
_SEQUENCE = r"\{([^{}.,\s]{1,6})\.\.([^{}.,\s]{1,6})(?:\.\.-?\d{1,4})?\}"
_OPEN_BRACES = r"\{[^{}\s;&|$]*(?:,|\.\.)[^{}\s;&|]*\}"
_IN_QUOTES = r"'[^']*+'|\"(?:[^\"\\]|\\[\s\S])*+\"|\\[\s\S]"
_LIST = r"\{([^{}]*+)\}"
_KNOWN: Final = {"HOME": ("~",), "PWD": (".",), "IFS": (" ",)}
_CHANGING = rf"[\\$`{{]|pwd|rev-parse|IFS=|{_RENAMES}"
"""Each of the readings changes only a text with one of these."""
_MAX_REPLACED: Final = 200
_MAX_WORDS: Final = 64
_MAX_NAME: Final = 64
_MAX_WORD_CHARS: Final = 512


@remember
def spellings(text: str) -> tuple[str, ...]:
    """Return *text* and its other readings."""
    if not compile_once(_CHANGING).search(text):
        return (text,)
    return _readings(text, (*_BEFORE_ESCAPES, _decode_escapes, _expand_braces))


def spellings_without_escapes(text: str) -> tuple[str, ...]:
    """Return *text* and its other readings, in which escapes stay as they are."""
    if "\\" not in text:
        return spellings(text)
    return _readings(text, (*_BEFORE_ESCAPES, _expand_braces))


def _readings(text: str, changes: Iterable[Callable[[str], str]]) -> tuple[str, ...]:
    readings = [text]
    for change in changes:
        readings.append(change(readings[-1]))
    return tuple(dict.fromkeys(readings))


def replace_variables(text: str) -> str:
    """Replace variables in *text* by the values that it assigns to them.

    A variable with several values becomes all of them; one without a value stays.
    """
    if "pwd" in text:
        text = compile_once(_HERE).sub(".", text)
    if "rev-parse" in text:
        text = compile_once(_GIT_TOP).sub(".", text)
        text = compile_once(_GIT_FOLDER).sub(_folder_of_git, text)
    if "$" not in text:
        return text
    values = {name: list(value) for name, value in _KNOWN.items()}
    for name, *value in compile_once(_ASSIGNMENTS).findall(text):
        values.setdefault(name, []).append("".join(value))

    for name, words in compile_once(_LOOPS).findall(text) if "for" in text else ():
        values.setdefault(name, []).extend(words.split())

    def value_of(variable: re.Match[str]) -> str:
        assigned = values.get(variable[1] or variable[3], [variable[2] or variable[0]])
        return " ".join(dict.fromkeys(assigned))

    return compile_once(_VARIABLES).sub(value_of, text, count=_MAX_REPLACED)


def _folder_of_git(question: re.Match[str]) -> str:
    return f".git/{question[1]}" if question[1] else ".git"


def _split_words(text: str) -> str:
    """Put spaces where the shell splits words by signs that *text* itself sets: `IFS=_`."""
    if "IFS=" not in text:
        return text
    signs = "".join(compile_once(_SEPARATORS).findall(text))
    return text.translate(dict.fromkeys(map(ord, signs), " "))


def replace_aliases(text: str) -> str:
    """Replace the names that *text* itself gives to programs by those programs."""
    if not compile_once(_RENAMES).search(text):
        return text
    names = {name: "".join(value) for name, *value in compile_once(_ALIASES).findall(text)}
    settings = {
        (kind, number): "".join(value)
        for kind, number, *value in compile_once(_GIT_SETTINGS).findall(text)
    }
    for (kind, number), key in settings.items():
        if kind == "KEY" and key.startswith("alias."):
            names[key.removeprefix("alias.")] = settings.get(("VALUE", number), "")
    for words in compile_once(_NEW_FILES).findall(text):
        if compile_once(_PROGRAM).search(words):
            *_, old, new = ["", "", *compile_once(r"[\s'\"`$()]++").sub(" ", words).split()]
            names[new.rpartition("/")[2]] = old
    names = {name: value for name, value in names.items() if name and 0 < len(value) <= _MAX_NAME}
    if not names:
        return text

    def program_of(word: re.Match[str]) -> str:
        return names.get(word[0].removeprefix("./"), word[0])

    return compile_once(_NAME).sub(program_of, text)


def _decode_escapes(text: str) -> str:
    """Decode the escapes of `$'…'`, of `printf` and of most languages."""
    return compile_once(_ESCAPES).sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2]
    if escape[4]:
        return "\n" if escape[4] == "n" else " "
    return chr(int(digits, 16) if digits else int(escape[3], 8))


def _expand_braces(text: str) -> str:
    """Replace `{a,b}c` by the words that it expands to."""
    if "{" not in text or ("," not in text and ".." not in text):
        return text
    text = compile_once(_SEQUENCE).sub(_names_between, text)
    return "".join(map(_expand_word, compile_once(r"([\s;&|]+)").split(text)))


def leaves_braces(text: str) -> bool:
    """Tell whether *text* has braces that stand for more names than are written out."""
    if "{" not in text:
        return False
    return (
        compile_once(_OPEN_BRACES).search(compile_once(_IN_QUOTES).sub("", _expand_braces(text)))
        is not None
    )


def _names_between(sequence: re.Match[str]) -> str:
    """Return `{a,b,c}` for `{a..c}`; what is too long stays."""
    first, last = sequence[1], sequence[2]
    is_number = first.lstrip("-").isdigit() and last.lstrip("-").isdigit()
    if not is_number and (len(first) > 1 or len(last) > 1):
        return sequence[0]
    low, high = sorted((int(first), int(last)) if is_number else (ord(first), ord(last)))
    if high - low >= _MAX_WORDS:
        return sequence[0]
    width = max(len(first), len(last)) if is_number and "0" in (first[0], last[0]) else 0
    names = [str(each).zfill(width) if is_number else chr(each) for each in range(low, high + 1)]
    return f"{{{','.join(names)},{names[0]}}}"  # a list needs a comma


def _expand_word(word: str) -> str:
    if "{" not in word or "," not in word or len(word) > _MAX_WORD_CHARS:
        return word
    waiting, words = [word], list[str]()
    while waiting and len(words) + len(waiting) < _MAX_WORDS:
        current = waiting.pop(0)
        inner = compile_once(_LIST).search(current)
        if inner is None:
            words.append(current)
            continue
        before, after = current[: inner.start()], current[inner.end() :]
        waiting[:0] = [before + each + after for each in inner[1].split(",")]
    return " ".join([*words, *waiting])


_BEFORE_ESCAPES: Final[tuple[Callable[[str], str], ...]] = (
    replace_variables,
    _split_words,
    replace_aliases,
)
