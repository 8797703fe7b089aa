"""Programs that a command may copy, or link to, without their whole name: `cp /usr/bin/cur? x`.

A copy runs under any other name, in this command or a later one, where no rule finds it. So a word
with wildcards that may stand for an installed program's file counts as that program.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from nanocoder_policy_rules.paths import from_root
from nanocoder_policy_rules.shell import compile_once

COMPUTED: Final = "\0"
"""Stands for a part of a word that is known only when the command runs."""
ANY: Final = "*"
_WILD: Final = frozenset(("*", "?", "[", COMPUTED))
_STANDARD: Final = (
    *("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"),
    *("/opt/homebrew/bin", "/snap/bin", "/etc/alternatives"),
)
_COPIERS: Final = frozenset(
    ("cp", "mv", "ln", "link", "install", "rsync", "scp", "dd", "tar", "cpio", "cat")
)
_WITH_DESTINATION: Final = frozenset(("cp", "mv", "ln", "link", "install", "rsync", "scp"))
# These put out names and facts about files, and no file's content.
_LISTERS: Final = frozenset(
    (
        *("ls", "echo", "printf", "file", "stat", "du", "wc", "test", "[", "[[", "which", "type"),
        *("readlink", "realpath", "basename", "dirname", "md5sum", "sha1sum", "sha256sum"),
    )
)
_QUIET = r"\d?>\s?/dev/null|\d>&\d"
_PASSES_ON = r"[|`<>]|\$\("
_BEFORE: Final = frozenset(("sudo", "doas", "env", "nice", "nohup", "command", "then", "do", "!"))


def copied_programs(text: str, commands: Iterable[Sequence[str]], raw: Iterable[str]) -> list[str]:
    """Return the names of programs, some with wildcards, that a command may copy.

    *commands* are the words of each command in *text*, with computed parts marked; *raw* are the
    same commands as text.
    """
    folders = _folders(os.environ.get("PATH", ""))
    is_only_listed = not compile_once(_PASSES_ON).search(compile_once(_QUIET).sub("", text))
    names: dict[str, None] = {}
    relative: list[str] = []
    for command in filter(None, commands):
        at = next((at for at, word in enumerate(command) if word not in _BEFORE), 0)
        program, words = command[at].rpartition("/")[2], command[at + 1 :]
        if is_only_listed and program in _LISTERS:
            continue
        wild = [word for word in words if not _WILD.isdisjoint(word)]
        relative += [word.rpartition("/")[2] for word in wild if not _is_placed(word)]
        for word in filter(_is_placed, wild):
            names.update(dict.fromkeys(_in_folders(word, folders)))
        names.update(dict.fromkeys(_named(program, words, text, folders)))
    if relative and any(_leads_there(word, folders) for piece in raw for word in piece.split()):
        names.update(dict.fromkeys(relative))
    return list(names)


def _named(
    program: str, words: Sequence[str], text: str, folders: Collection[str]
) -> Iterator[str]:
    """Yield the programs that a command certainly copies; of a folder, any."""
    if program not in _COPIERS or (program == "cat" and ">" not in text and "|" not in text):
        return
    for word in filter(_is_placed, _sources(program, words)):
        yield from _in_folders(word, folders)
        if _could_be(from_root(word), folders):
            yield ANY


@lru_cache(maxsize=8)
def _folders(path: str) -> tuple[str, ...]:
    own = (folder.rstrip("/") for folder in path.split(os.pathsep) if folder[:1] == "/")
    return tuple(dict.fromkeys((*_STANDARD, *own)))


def _is_placed(word: str) -> bool:
    """Tell whether a word says itself in which folder it is, from whatever directory."""
    return word[:1] == "/" or word[:2] == ".." or word[:2] == "~/"


def _in_folders(word: str, folders: Collection[str]) -> Iterator[str]:
    """Yield the name at the end of a path, if the path may be in a folder of programs."""
    folder, _, name = from_root(word).rpartition("/")
    if name and folder and _could_be(folder, folders):
        yield name


def _could_be(pattern: str, folders: Collection[str]) -> bool:
    """Tell whether a path, perhaps with wildcards, may be one of *folders*."""
    if _WILD.isdisjoint(pattern):
        return pattern in folders
    depth, pattern = pattern.count("/"), pattern.replace(COMPUTED, "*")
    return any(folder.count("/") == depth and fnmatchcase(folder, pattern) for folder in folders)


def _sources(program: str, words: Sequence[str]) -> list[str]:
    """Return what a program copies; the last of several operands is where to."""
    if program == "tar" and any("x" in word for word in words[:1]):
        return []  # it unpacks
    operands = [word for word in words if word[:1] != "-"]
    names_target = any(word[:2] == "-t" or word[:8] == "--target" for word in words)
    if program in _WITH_DESTINATION and len(operands) > 1 and not names_target:
        return operands[:-1]
    return operands


def _leads_there(word: str, folders: Collection[str]) -> bool:
    """Tell whether a word names a folder of programs, or one above: names below may be programs."""
    place = word.rpartition("=")[2].removeprefix("-C").strip("()`$\"'{}")
    if not _is_placed(place):
        return False
    path = from_root(place)
    below = "/" if path == "/" else f"{path}/"
    return _could_be(path, folders) or any(folder.startswith(below) for folder in folders)
