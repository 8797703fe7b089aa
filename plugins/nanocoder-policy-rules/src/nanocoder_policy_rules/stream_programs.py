"""Programs for sed and awk that only change or select the lines that they get."""

from collections.abc import Sequence
from typing import Final

from nanocoder_policy_rules.shell import compile_once

_ADDRESS = r"(?:\d++(?:~\d++)?|\$|\+\d++|/(?:[^/\\\n]|\\.)*+/I?)"
_DEED = (
    r"(?:[pdqQnDGHhxNPl=]\d*+|[{}]|[bt]\s*+\w*+|:\s*+\w++|[aic]\b[^\n]*+"
    r"|s(?P<S>[^\w\s\\])(?:(?!(?P=S))[^\\\n]|\\[\s\S])*+(?P=S)"
    r"(?:(?!(?P=S))[^\\]|\\[\s\S])*+(?P=S)[gpiIM0-9]*+"
    r"|y(?P<Y>[^\w\s\\])(?:(?!(?P=Y))[^\\]|\\[\s\S])*+(?P=Y)(?:(?!(?P=Y))[^\\]|\\[\s\S])*+(?P=Y))"
)
_STEP = (
    rf"[\s;]*+(?:{_ADDRESS}(?:\s*,\s*{_ADDRESS})?\s*+)?!?\s*+{_DEED}\s*+"
    r"(?=[;\n{}]|\Z|(?<=[{}]))"
)
_LONG_OF_SED: Final = frozenset(
    ("--quiet", "--silent", "--regexp-extended", "--in-place", "--separate", "--null-data")
)
_FLAGS_OF_SED: Final = frozenset("nrEszu")
# What starts a program, or reads or writes a file that the program computes.
_RISKY_AWK = r"\bgetline\b|\bsystem\b|\bARG[VC]\b|@|\||>(?!=|\s*\d)"


def is_plain_sed(words: Sequence[str]) -> bool:
    """Tell whether sed with these arguments runs nothing, and opens no file but its operands."""
    scripts: list[str] = []
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word == "--expression":
            scripts.append(next(rest, "e"))
        elif word[:2] == "--" != word:
            if word.partition("=")[0] not in _LONG_OF_SED:
                return False
        elif word[:1] == "-" and word not in {"-", "--"}:
            letters, e, script = word[1:].partition("e")
            if "i" in letters:
                letters, e = letters.partition("i")[0], ""
            if not _FLAGS_OF_SED.issuperset(letters):
                return False
            if e:
                scripts.append(script or next(rest, "e"))
        else:
            operands.append(word)
    return all(map(_is_plain_script, scripts or operands[:1]))


def _is_plain_script(script: str) -> bool:
    at, step = 0, compile_once(_STEP)
    while script[at:].strip(" \n\t;"):
        match = step.match(script, at)
        if match is None or match.end() == at:
            return False
        at = match.end()
    return True


def is_plain_awk(words: Sequence[str]) -> bool:
    """Tell whether awk with these arguments runs nothing, and opens no file but its operands."""
    rest = iter(words)
    for word in rest:
        if word in {"-F", "-v"}:
            next(rest, None)
        elif word[:1] != "-" or word == "--":
            program = next(rest, "") if word == "--" else word
            return compile_once(_RISKY_AWK).search(program.replace("||", "")) is None
        elif word[:2] not in {"-F", "-v"}:
            return word in {"--version", "-V"}
    return True
