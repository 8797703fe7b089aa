"""Programs by what they do with code, and the words of a command in the tree."""

import re
from typing import TYPE_CHECKING, Final

from nanocoder_policy_shell.syntax import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

EVALUATING: Final = frozenset(("eval", "source", ".", "trap"))
WRAPPERS: Final = frozenset(
    (
        *("builtin", "chroot", "command", "doas", "env", "exec", "flock", "ionice", "nice"),
        *("nohup", "parallel", "setsid", "stdbuf", "strace", "sudo", "su", "taskset", "time"),
        *("timeout", "unshare", "watch", "xargs"),
    )
)
DOWNLOADING: Final = frozenset(
    (
        *("aria2c", "curl", "fetch", "ftp", "http", "https", "lynx", "nc", "ncat", "netcat"),
        *("socat", "w3m", "wget", "xh"),
    )
)
DECODING: Final = frozenset(("base32", "base64", "basenc", "openssl", "uudecode", "xxd"))
_INTERPRETERS: Final = re.compile(
    r"(?:ba|da|k|z|a)?sh|python[\d.]*|pypy\d?|perl|ruby|node|nodejs|deno|bun|php|lua|osascript"
)
_SHELLS: Final = re.compile(r"(?:ba|da|k|z|a)?sh")
_LITTER: Final = str.maketrans("", "", "'\"\\")


def name_of(word: str) -> str:
    """Return the name of the program that *word* starts: without quotes and its folder."""
    return word.translate(_LITTER).rpartition("/")[2]


def is_interpreter(word: str) -> bool:
    """Tell whether *word* starts a program that runs code."""
    return _INTERPRETERS.fullmatch(name_of(word)) is not None


def is_shell(word: str) -> bool:
    """Tell whether *word* starts a shell."""
    return _SHELLS.fullmatch(name_of(word)) is not None


def words_of(command: "Node") -> "list[Node]":
    """Return the name of a command and its arguments."""
    names = (child for child in command.children if child.is_named)
    return [node for node in names if node.type not in {"variable_assignment", "file_redirect"}]


def runner_at(words: "list[Node]") -> int:
    """Return which of *words* is the program that runs code, behind any wrappers; -1 if none."""
    if not words:
        return -1
    texts = [text_of(word) for word in words]
    first = name_of(texts[0])
    if first in EVALUATING or is_interpreter(first):
        return 0
    if first not in WRAPPERS:
        return -1
    later = (at for at, text in enumerate(texts) if at and _runs_code(text))
    return next(later, -1)


def _runs_code(word: str) -> bool:
    return is_interpreter(word) or name_of(word) == "eval"
