"""Words that a command computes when it runs, and where one of them would be a program."""

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from nanocoder_policy_rules.copied_programs import COMPUTED
from nanocoder_policy_rules.shell import ASSIGNMENT, compile_once

WILD: Final = frozenset(("*", "?", "[", COMPUTED))
SIGNS: Final = WILD | {"$", "`"}
SHELLS: Final = frozenset(("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox"))
# A program is expected after these words.
LEADING: Final = frozenset(
    (
        *("$", "!", "do", "then", "else", "elif", "if", "while", "until", "sudo", "doas", "env"),
        *("nohup", "nice", "ionice", "timeout", "time", "setsid", "stdbuf", "watch", "xargs"),
        *("exec", "command", "builtin", "eval", "coproc", "taskset", "prlimit", "setarch"),
        *("systemd-run", "runuser", "fakeroot", "chroot", "unshare", "nsenter", "strace"),
    )
)
_VARIABLE = r"\$\{[^}\s]{0,64}+\}|\$\{?(?:\w++|[@*#?!$-])"
_CLASS = r"\[[^\[\]\s]{0,64}+(?:\[[:.=]\w{1,16}+[:.=]\][^\[\]\s]{0,64}+){1,8}+\]"  # [[:alpha:]_]
_SUBSTITUTION = r"\$\(|`"
_ASSIGNMENTS = r"\s*+(?:[A-Za-z_]\w*+\+?=[^\s$`(]*+\s++)*+"
_PLACEHOLDER = r"\bxargs\s[^;&|\n]{0,200}?(?:-I\s*+|--replace[=\s]|-i(?=\S))([^\s'\"]{1,16}+)"
_CODE_OPTION = r"-[a-zA-Z]*c"
_VALUE = r"[0-9.]+[a-z]?"
_SHORT_OPTION: Final = 2


def has_signs(piece: str) -> bool:
    """Tell whether a part of a command may be computed."""
    return not SIGNS.isdisjoint(piece) or has_placeholder(piece)


def has_placeholder(text: str) -> bool:
    """Tell whether xargs puts what it reads into words of its command."""
    return "xargs" in text and compile_once(_PLACEHOLDER).search(text) is not None


def mark_computed(piece: str, split: Callable[[str], list[str]]) -> list[str]:
    """Return a command's words without leading assignments; a mark replaces computed parts."""
    command = compile_once(_ASSIGNMENTS).sub("", piece, count=1)
    if placeholder := compile_once(_PLACEHOLDER).search(command):
        # Without the sign itself, since splitting would lose one such as `{}`.
        before = command[: placeholder.start(1)].rstrip()
        after = command[placeholder.end() :].replace(placeholder[1], COMPUTED)
        command = f"{before}R{after}"
    command = compile_once(_CLASS).sub("?", command)
    substituted = compile_once(_SUBSTITUTION).sub(f"{COMPUTED} ", command)
    return split(compile_once(_VARIABLE).sub(COMPUTED, substituted))


def programs(words: Sequence[str]) -> Iterator[str]:
    """Yield those of *words* that may be started as programs, behind wrappers and their options."""
    runs_code = not SHELLS.isdisjoint(word.rpartition("/")[2] for word in words)
    is_open, before = True, ""
    for word in words:
        if is_open or (runs_code and compile_once(_CODE_OPTION).fullmatch(before)):
            yield word
        if word.rpartition("/")[2] in LEADING:
            is_open = True
        elif is_open:
            is_open = _may_precede(word, before)
        before = word


def _may_precede(word: str, before: str) -> bool:
    """Tell whether a program may follow *word*: an option, its value, a number, an assignment."""
    is_value = before[:1] == "-" and len(before) == _SHORT_OPTION
    is_setting = compile_once(ASSIGNMENT).fullmatch(word) or compile_once(_VALUE).fullmatch(word)
    return word[:1] == "-" or is_value or bool(is_setting)


@lru_cache(maxsize=4_096)
def stands_for(word: str, want: str) -> bool:
    """Tell whether a word with wildcards or a computed part could be *want*."""
    pattern = word.rpartition("/")[2].replace(COMPUTED, "*")
    return not WILD.isdisjoint(pattern) and fnmatchcase(want, pattern)
