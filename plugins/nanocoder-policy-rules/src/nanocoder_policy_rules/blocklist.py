"""Commands that end a machine or a home, which nobody means an agent to run, in any mode.

Like every rule that forbids, this looks at what the text could be hiding, and rather finds once too
much. It cannot find what a command computes when it runs.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from nanocoder_policy_rules.rules import RUNNERS, UNRULED, Segment

_LITTER = r"\\\n|[\\'\"]"
_BREAKS = r"[;&|\n]+"
_GAPS = r"[\s(){}<>`,=!]+"
_BOMB = r"([\w:.]+)\(\)\{.*\1\|\1&.*\}"
_DISK = r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|dm-\d|mapper/)\w*/?\S*"
_ONTO_DISK = rf">[>|&]?\s*{_DISK}"
_HOME = r"~[\w.-]*|\$\{?HOME\}?|/(?:home|Users)/[^/]+"

_PLACES: Final = frozenset(
    (
        *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt"),
        *("/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib"),
        *("/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib", "/mnt", "/media"),
        *("/Users", "/System", "/Library", "/Applications", "/Volumes", "/private"),
    )
)
_RECURSIVE: Final = {"rm": "rR", "chmod": "R", "chown": "R", "chgrp": "R"}
_DISK_TOOLS: Final = frozenset(
    (
        *("tee", "shred", "wipefs", "blkdiscard", "mkswap", "mkfs", "mke2fs", "newfs"),
        *("cfdisk", "sfdisk", "gdisk", "sgdisk", "parted"),
    )
)
_POWER: Final = frozenset(("shutdown", "reboot", "halt", "poweroff"))
_POWER_WORDS: Final = frozenset((*_POWER, "kexec", "0", "6"))
# Behind these a program is expected.
_LEADING: Final = RUNNERS | UNRULED | {"$", "!", "do", "then", "else", "if", "while", "until"}
_TESTS: Final = frozenset(("-name", "-iname", "-path", "-ipath", "-regex", "-iregex"))


def blocked(text: str, segments: Sequence[Segment] | None) -> str:
    """Return what a command would destroy, "" when it is none of these.

    *segments* are the words of the commands in *text* when all of it was recognised, else None.
    """
    bare = _compiled(_LITTER).sub("", text)
    if _compiled(_BOMB).search("".join(bare.split())):
        return "it starts itself again and again"
    if found := _compiled(_ONTO_DISK).search(bare):
        return f"it overwrites the disk {found[0].lstrip('>|& ')}"
    for words, starts in _segments(bare) if segments is None else segments:
        for at, program in _programs(words, starts=starts):
            if found_out := _damage(program, words[at + 1 :], words[:at]):
                return found_out
    return ""


def _segments(bare: str) -> Iterator[Segment]:
    whole = bare.replace("${HOME}", "$HOME").replace("${IFS}", " ").replace("$IFS", " ")
    for part in _compiled(_BREAKS).split(whole):
        words = [word for word in _compiled(_GAPS).split(part) if word]
        if words:
            yield words, False


def _programs(words: Sequence[str], *, starts: bool) -> Iterator[tuple[int, str]]:
    """Yield where a program could be, and its name."""
    is_first = starts and words[0] not in _LEADING
    for at, word in enumerate(words[:1] if is_first else words):
        yield at, word.rpartition("/")[2]


def _damage(program: str, arguments: Sequence[str], before: Sequence[str]) -> str:
    operands = [word for word in arguments if not word.startswith("-")]
    if program in _RECURSIVE and _is_recursive(arguments, _RECURSIVE[program]):
        verb = "removes" if program == "rm" else "changes who may use"
        return _said(verb, operands)
    if program == "find" and not {"-delete", "rm", "shred"}.isdisjoint(arguments):
        return _said("removes", operands) if _TESTS.isdisjoint(arguments) else ""
    if program == "kill" and "-1" in arguments[1:]:
        return "it ends every process of the user"
    disks = filter(_compiled(_DISK).fullmatch, _written(program, operands))
    if disk := next(disks, ""):
        return f"it overwrites the disk {disk}"
    return _powers_off(program, operands, before)


def _written(program: str, operands: Sequence[str]) -> Sequence[str]:
    """Return the operands that a program writes to."""
    if program == "dd":  # "=" may have ended a word
        split = [word for before, word in pairwise(operands) if before == "of"]
        return [*split, *(word[len("of=") :] for word in operands if word.startswith("of="))]
    if program == "cp":
        return operands[-1:]
    formats = program in _DISK_TOOLS or program.startswith(("mkfs.", "newfs_"))
    return operands if formats else ()


def _powers_off(program: str, operands: Sequence[str], before: Sequence[str]) -> str:
    # The words are ordinary ones: only where a program is expected do they stand for it.
    if before and _LEADING.isdisjoint((before[0], before[-1])):
        return ""
    switches = program in {"init", "telinit", "systemctl"} and _POWER_WORDS & {*operands[:1]}
    return "it switches the machine off" if program in _POWER or switches else ""


def _is_recursive(arguments: Sequence[str], letters: str) -> bool:
    for word in arguments:
        if word.startswith("--"):
            if "--recursive".startswith(word) and len(word) > len("--"):
                return True
        elif word.startswith("-") and set(letters) & set(word):
            return True
    return False


def _said(verb: str, operands: Sequence[str]) -> str:
    found = next((word for word in operands if _is_vital(word)), "")
    return found and f"it {verb} {found!r} and all that is in it"


def _is_vital(word: str) -> bool:
    """Tell whether a path is the root of the disk, of the system or of a home, or all in one."""
    path = word.removeprefix("$") if word.startswith("$/") else word
    head, slash, last = path.rstrip("/").rpartition("/")
    if slash and (last[:1] in {"*", "?", "["} or last == ".*"):
        path = head or "/"
    path = posixpath.normpath(path)
    return path.replace("//", "/") in _PLACES or _compiled(_HOME).fullmatch(path) is not None


# Compiled at their first use: this module is imported at every start.
_compiled = cache(re.compile)
