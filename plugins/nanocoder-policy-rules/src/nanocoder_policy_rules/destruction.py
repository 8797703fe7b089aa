"""What a command destroys: the system, a home, the workspace, or what no undo brings back.

A variable that nothing sets stands for nothing, as it does for the shell: `rm -rf $X/*` is about
`/*`. This is a guard rail; a program can destroy without naming anything, and a sandbox holds that.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from nanocoder_policy_rules.programs import FORGETTING, FORMATTING, LASTING, POWER, REMOVERS
from nanocoder_policy_rules.rule_matching import Match, match_words
from nanocoder_policy_rules.shell_text import Command, Script
from nanocoder_policy_rules.shell_words import Expansion, Word

if TYPE_CHECKING:
    from nanocoder_policy_rules.call_context import CallContext

_HOME: Final = re.compile(r"~[\w.-]*|/(?:home|Users)/[^/]+|/root")
_VITAL: Final = frozenset(
    (
        *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt"),
        *("/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib"),
        *("/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib", "/mnt", "/media"),
        *("/Users", "/System", "/Library", "/Applications", "/Volumes", "/private"),
    )
)
_DISK: Final = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|dm-\d|mapper/)\w*.*"
)
_BOMB: Final = re.compile(r"([\w:.]{1,64})\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&")
MAX_BOMB: Final = 2_000
_GIT_STORES: Final = (".git", ".git/objects", ".git/refs")
_TESTS: Final = ("-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-mtime", "-mmin")
_NARROWING: Final = frozenset((*_TESTS, "-empty", "-newer", "-size", "-user", "-perm", "-inum"))
_REMOVING: Final = frozenset((*REMOVERS, "find", "rsync"))
_UNSET: Final = "$"
"""How a path begins of which nothing is known; it is not judged."""


class Extent(IntEnum):
    """How much is lost when a command removes something."""

    NOTHING = 0
    FILES = 1  # of the workspace, all of them
    WORKSPACE = 2  # with its history
    SYSTEM = 3  # or a home, or all of the disk


def damage(context: "CallContext") -> str:
    """Describe what a command would destroy for good, outside of the workspace or all of it."""
    script = context.script
    if _BOMB.search(context.started, 0, MAX_BOMB):
        return "starts itself again and again"
    for command in script.commands:
        for words in command.started:
            if deed := _damage_by_program([word.text for word in words]):
                return deed
        for redirect in command.redirects:
            if redirect.target and _DISK.fullmatch(redirect.target.text):
                return f"overwrites the disk {redirect.target.text}"
    return next((deed for deed, extent in _removals(context) if extent >= Extent.WORKSPACE), "")


def emptied(context: "CallContext") -> str:
    """Describe how a command removes all files of the workspace, or return ""."""
    return next((deed for deed, extent in _removals(context) if extent == Extent.FILES), "")


def lasting(script: Script) -> tuple[tuple[str, ...], str]:
    """Return the words and the deed of a command that others see at once; "" without one."""
    return _first_of(LASTING, script)


def forgotten(script: Script) -> tuple[tuple[str, ...], str]:
    """Return the words and the deed of a command that no undo brings back; "" without one."""
    return _first_of(FORGETTING, script)


def _first_of(deeds: Mapping[tuple[str, ...], str], script: Script) -> tuple[tuple[str, ...], str]:
    programs = {words[0] for words in deeds}
    for command in script.commands:
        for words in command.started:
            if words and words[0].text.rpartition("/")[2] in programs:
                for pattern, deed in deeds.items():
                    if match_words(pattern, words) is Match.YES:
                        return pattern, deed
    return (), ""


def _damage_by_program(words: Sequence[str]) -> str:
    if not words:
        return ""
    name, arguments = words[0].rpartition("/")[2], words[1:]
    if name in POWER or (name == "systemctl" and not POWER.isdisjoint(arguments)):
        return "switches the machine off"
    if name in {"init", "telinit"} and arguments[:1] in (["0"], ["6"]):
        return "switches the machine off"
    if name == "kill" and "-1" in arguments[1:]:
        return "ends every process of the user"
    if name in {"cp", "mv"}:
        targets = arguments[-1:]
    elif name in FORMATTING or name.startswith("mkfs."):
        targets = [each.removeprefix("of=") for each in arguments if name != "dd" or "of=" in each]
    else:
        return ""
    disk = next(filter(_DISK.fullmatch, targets), "")
    return f"overwrites the disk {disk}" if disk else ""


def _removals(context: "CallContext") -> Iterator[tuple[str, Extent]]:
    """Yield what each command removes, and how much that is, wherever the commands before go."""
    folder = context.folder
    values = {**_values_at_start(), "PWD": folder}
    root = os.path.realpath(context.session.cwd)
    for command in context.script.commands:
        values.update((name, _text(value, values)) for name, value in command.assignments)
        values.update(_values_from(command))
        if command.program in {"cd", "pushd"}:
            target = _text(command.words[1], values) if len(command.words) > 1 else "~"
            if not target.startswith(_UNSET):
                folder = values["PWD"] = _resolve(target or ".", folder)
            continue
        for words in command.started:
            yield from _removed(words, values, folder, root)


def _values_from(command: Command) -> dict[str, str]:
    """Return the variables that a command sets to something unknown, "" for any."""
    if command.program in {"source", ".", "eval"}:
        return {"": _UNSET}
    is_reading = command.program in {"read", "mapfile", "readarray", "getopts"}
    return {word.text: _UNSET for word in command.words[1:]} if is_reading else {}


def _removed(
    words: Sequence[Word], values: Mapping[str, str], folder: str, root: str
) -> Iterator[tuple[str, Extent]]:
    name = words[0].text.rpartition("/")[2] if words else ""
    if name not in _REMOVING:
        return
    operands = _operands(name, [word.text for word in words[1:]], words[1:])
    removes = name not in {"chmod", "chown", "chgrp"}
    verb = "deletes" if removes else "changes who may use"
    for word in operands:
        target = _text(word, values)
        extent = _extent(target, folder, root)
        if extent < (Extent.FILES if removes else Extent.SYSTEM):
            continue
        unset = next(filter(None, (_unset(part, values) for part in word.parts)), "")
        if name == "find" and not unset and _is_narrow(words):
            continue
        advice = f" if {unset} is not set; write ${{{unset}:?}}" if unset else ""
        yield f"{verb} {target!r} and everything in it{advice}", extent


def _operands(name: str, texts: Sequence[str], words: Sequence[Word]) -> list[Word]:
    """Return what *name* removes or makes accessible, [] if it does neither."""
    operands = [word for word in words if not word.text.startswith("-")]
    if name in REMOVERS:
        return operands if _is_recursive(texts, REMOVERS[name]) else []
    if name == "find":
        removes = not {"-delete", "rm", "shred", "unlink"}.isdisjoint(texts)
        end = next((at for at, text in enumerate(texts) if text.startswith("-")), len(texts))
        return list(words[:end]) if removes else []
    if name == "rsync":  # it deletes there what its source does not have
        return operands[-1:] if any(text.startswith("--del") for text in texts) else []
    return []


def _is_recursive(texts: Sequence[str], letters: str) -> bool:
    for text in texts:
        if text.startswith("--"):
            if len(text) > len("--") and "--recursive".startswith(text):
                return True
        elif text.startswith("-") and not {*letters}.isdisjoint(text):
            return True
    return False


def _is_narrow(words: Sequence[Word]) -> bool:
    """Tell whether find selects only some files."""
    return any(
        word.text in _NARROWING and {*"".join(each.text for each in words[at : at + 1])} - {*"*?./"}
        for at, word in enumerate(words, 1)
    )


def _values_at_start() -> dict[str, str]:
    """Return the variables that every shell has: a home, and others of which nothing is known."""
    others = dict.fromkeys(("PWD", "USER", "TMPDIR", "PATH", "SHELL", "LOGNAME"), _UNSET)
    return {**others, "HOME": os.path.expanduser("~")}


def _unset(part: str | Expansion, values: Mapping[str, str]) -> str:
    """Return the name of a variable that stands for nothing, "" for all other parts."""
    if isinstance(part, str) or part.name.startswith("~") or values.get(part.name):
        return ""
    return part.name


def _text(word: Word, values: Mapping[str, str]) -> str:
    """Return what a word stands for, with variables that nothing sets as nothing.

    Where a part cannot be known, what stands before it is returned with `$`.
    """
    text = ""
    for part in word.parts:
        if isinstance(part, str):
            text += part
            continue
        if part.operator[-1:] == "?" or not part.name:  # it is set, or nobody knows
            return text + _UNSET
        if part.name.startswith("~"):
            text += part.name
            continue
        value = values.get(part.name, values.get("", ""))
        if not value and part.operator[-1:] in {"-", "="}:
            value = part.default.strip("\"'")
        if value.startswith(_UNSET) or part.name.isdigit() or part.name in {"@", "*"}:
            return text + _UNSET
        text += value
    return text


def _extent(text: str, folder: str, root: str) -> Extent:
    """Return how much is lost when *text* is removed in *folder*."""
    if not text or text.startswith(_UNSET):
        return Extent.NOTHING
    if text.endswith(_UNSET):  # only the beginning is known
        return Extent.NOTHING
    head, slash, last = text.rstrip("/").rpartition("/")
    is_glob = last[:1] in {"*", "?", "["} or last[:2] in {".*", ".?", ".["}
    path = (head or ("/" if slash else ".")) if is_glob else text
    if _is_vital(path):
        return Extent.SYSTEM
    place = _resolve(path, folder)
    if place == root:
        # `.*` is the history, too.
        return Extent.FILES if is_glob and last[0] != "." else Extent.WORKSPACE
    if _is_vital(place) or root.startswith(place.rstrip("/") + "/"):
        return Extent.SYSTEM
    is_history = any(f"{place}/".endswith(f"/{store}/") for store in _GIT_STORES)
    return Extent.WORKSPACE if is_history else Extent.NOTHING


def _resolve(path: str, folder: str) -> str:
    path = os.path.join(folder, os.path.expanduser(path))
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # too long, or with a NUL
        return posixpath.normpath(path)


def _is_vital(path: str) -> bool:
    """Tell whether a path is the root of the disk, of the system or of a home."""
    path = posixpath.normpath(path).replace("//", "/")
    is_home = path == os.path.expanduser("~") != "/" or _HOME.fullmatch(path) is not None
    return path in _VITAL or is_home
