"""What a command destroys: the system, a home, the workspace, or what no undo brings back.

A variable that nothing sets stands for nothing, as it does for the shell: `rm -rf $X/*` is about
`/*`. A path that is known only when the command runs may be all of the workspace, so its removal
needs a person. This is a guard rail; a program can destroy without naming anything, and a sandbox
holds that.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from nanocoder_kit_glob import BadPattern, expand_braces

from nanocoder_policy_rules.programs import FORMATTING, POWER, REMOVERS, Deeds
from nanocoder_policy_rules.rule_matching import Match, match_words
from nanocoder_policy_rules.shell_text import Command, Script
from nanocoder_policy_rules.shell_words import BRACES, Expansion, Word

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
_FEEDING: Final = frozenset(("xargs", "parallel"))
"""Programs that give others operands which they read."""
_UNSET: Final = "$"
"""How the part of a path is written that nobody knows before the command runs."""
_HERE: Final = Word(".", (".",))
_HOME_WORD: Final = Word("~", (Expansion("~"),))


class Extent(IntEnum):
    """How much is lost when a command removes something."""

    NOTHING = 0
    UNKNOWN = 1  # it is computed when the command runs
    FILES = 2  # of the workspace, all of them
    WORKSPACE = 3  # with its history
    SYSTEM = 4  # or a home, or all of the disk


def damage(context: "CallContext") -> str:
    """Describe what a command would destroy for good, outside of the workspace or all of it."""
    script = context.script
    if _BOMB.search(context.started, 0, MAX_BOMB):
        return "starts itself again and again"
    for command in script.commands:
        for words in command.started:
            if deed := _damage_by_program(_program(words), [word.text for word in words[1:]]):
                return deed
        for redirect in command.redirects:
            if redirect.target and _DISK.fullmatch(redirect.target.text):
                return f"overwrites the disk {redirect.target.text}"
    return next((deed for deed, lost in removals(context) if lost >= Extent.WORKSPACE), "")


def emptied(context: "CallContext") -> str:
    """Describe how a command removes all files of the workspace, or what nobody knows; or ""."""
    may_be_all = {Extent.UNKNOWN, Extent.FILES}
    return next((deed for deed, lost in removals(context) if lost in may_be_all), "")


def deed_among(deeds: Deeds, script: Script) -> tuple[tuple[str, ...], str]:
    """Return the words and the deed of the first command that does one of *deeds*, or ""."""
    programs = {words[0] for words in deeds}
    for command in script.commands:
        for words in command.started:
            if _program(words) in programs:
                for pattern, deed in deeds.items():
                    if match_words(pattern, words) is Match.YES:
                        return pattern, deed
    return (), ""


def _damage_by_program(name: str, arguments: Sequence[str]) -> str:
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


@lru_cache(maxsize=1)  # two steps ask about the same call
def removals(context: "CallContext") -> tuple[tuple[str, Extent], ...]:
    """Return what each command removes, and how much that is, wherever the commands before go."""
    return tuple(_removals(context))


def _removals(context: "CallContext") -> Iterator[tuple[str, Extent]]:
    shell = _Shell(context.folder, os.path.realpath(context.session.cwd))
    for command in context.script.commands:
        shell.assign(command)
        if command.program in {"cd", "pushd"}:
            shell.enter(command.words[1] if len(command.words) > 1 else _HOME_WORD)
            continue
        is_fed = False
        for words in command.started:
            is_fed = is_fed or _program(words) in _FEEDING
            yield from _removed(words, shell, is_fed=is_fed)


def _program(words: Sequence[Word]) -> str:
    return words[0].text.rpartition("/")[2] if words else ""


def _removed(
    words: Sequence[Word], shell: "_Shell", *, is_fed: bool
) -> Iterator[tuple[str, Extent]]:
    name = _program(words)
    operands = _operands(name, [word.text for word in words[1:]], words[1:])
    removes = name not in {"chmod", "chown", "chgrp"}
    verb = "deletes" if removes else "changes who may use"
    if operands is not None and is_fed:
        yield f"{verb} what another program names", Extent.UNKNOWN
    for word in operands or ():
        target, extent = shell.most_lost(word)
        if extent is Extent.UNKNOWN:
            yield f"{verb} {word.text!r}, known only when it runs", extent
        if extent < (Extent.FILES if removes else Extent.SYSTEM):
            continue
        unset = next(filter(None, map(shell.unset, word.parts)), "")
        if name == "find" and not unset and _is_narrow(words):
            continue
        advice = f" if {unset} is not set; write ${{{unset}:?}}" if unset else ""
        whose = " of the workspace" if extent is Extent.FILES else ""
        yield f"{verb} {target!r} and everything in it{whose}{advice}", extent


def _operands(name: str, texts: Sequence[str], words: Sequence[Word]) -> Sequence[Word] | None:
    """Return what *name* removes or makes accessible, None if it does neither."""
    operands = [word for word in words if not word.text.startswith("-")]
    if name in REMOVERS:
        return operands if _is_recursive(texts, REMOVERS[name]) else None
    if name == "find":
        removes = not {"-delete", "rm", "shred", "unlink"}.isdisjoint(texts)
        end = next((at for at, text in enumerate(texts) if text.startswith("-")), len(texts))
        return (words[:end] or (_HERE,)) if removes else None
    if name == "rsync":  # it deletes there what its source does not have
        return operands[-1:] if any(text.startswith("--del") for text in texts) else None
    return None


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


class _Shell:
    """Where a script is and what its variables hold, while its commands are followed.

    *is_lost* says that it may be elsewhere than in *folder*; *root* is the workspace.
    """

    def __init__(self, folder: str, root: str) -> None:
        self.folder, self.root, self.is_lost = folder, root, False
        # Every shell has a home, and others of which nothing is known.
        self.values = dict.fromkeys(("USER", "TMPDIR", "PATH", "SHELL", "LOGNAME"), _UNSET)
        self.values |= {"PWD": folder, "HOME": os.path.expanduser("~")}
        self._known = {"PWD", "HOME"}

    def assign(self, command: Command) -> None:
        """Note which variables a command sets; those that it sets to something unknown, too."""
        for name, word in command.assignments:
            text, is_known = self._text(word)
            self.values[name] = text or ("" if is_known else _UNSET)
            (self._known.add if is_known else self._known.discard)(name)
        if command.program in {"source", ".", "eval"}:
            self.values[""] = _UNSET  # any may be set there
            self._known = set()
        elif command.program in {"read", "mapfile", "readarray", "getopts", "printf"}:
            self.values.update({word.text: _UNSET for word in command.words[1:]})
        elif command.program == "unset":
            self.values.update({word.text: "" for word in command.words[1:]})

    def enter(self, word: Word) -> None:
        """Follow the commands to another directory."""
        text, is_known = self._text(word)
        self.is_lost = not is_known or (self.is_lost and text[:1] not in {"/", "~"})
        if not text.endswith(_UNSET):
            self.folder = _resolve(text or ".", self.folder)
        self.values["PWD"] = _UNSET if self.is_lost else self.folder

    def most_lost(self, word: Word) -> tuple[str, Extent]:
        """Return which of the paths that a word stands for loses most, and how much that is."""
        text, is_known = self._text(word)
        try:
            targets = expand_braces(text) if BRACES in word.parts else [text]
        except BadPattern:
            return text, Extent.UNKNOWN
        extent, target = max((self._extent(each), each) for each in targets)
        return target, extent if is_known else max(extent, Extent.UNKNOWN)

    def unset(self, part: str | Expansion) -> str:
        """Return the name of a variable that stands for nothing, "" for all other parts."""
        if isinstance(part, str) or part is BRACES or part.name.startswith("~"):
            return ""
        return "" if self.values.get(part.name) else part.name

    def _text(self, word: Word) -> tuple[str, bool]:
        """Return what a word stands for, and whether that is certain.

        Variables that nothing sets stand for nothing. Where a part cannot be known, what stands
        before it is returned with `$`.
        """
        text, is_known = "", True
        for part in word.parts:
            if isinstance(part, str) or part.name.startswith("~"):
                text += part if isinstance(part, str) else part.name
            elif part is not BRACES:
                value = self._value(part)
                if value.endswith(_UNSET):
                    return text + value, False
                text += value
                is_whole = bool(part.operator or not part.default)
                is_known = is_known and is_whole and part.name in self._known
        return text, is_known

    def _value(self, part: Expansion) -> str:
        if not part.name or part.name.isdigit() or part.name in {"@", "*"}:
            return _UNSET
        value = self.values.get(part.name, self.values.get("", ""))
        if not value and part.operator[-1:] == "?":  # it is set, and nobody knows to what
            return _UNSET
        return value or (part.default.strip("\"'") if part.operator[-1:] in {"-", "="} else "")

    def _extent(self, text: str) -> Extent:
        """Return how much is lost when *text* is removed."""
        if not text or text.endswith(_UNSET):
            return Extent.UNKNOWN if text else Extent.NOTHING
        head, slash, last = text.rstrip("/").rpartition("/")
        is_glob = last[:1] in {"*", "?", "["} or last[:2] in {".*", ".?", ".["}
        path = (head or ("/" if slash else ".")) if is_glob else text
        if _is_vital(path):
            return Extent.SYSTEM
        place = _resolve(path, self.folder)
        if place == self.root:
            # `.*` is the history, too.
            return Extent.FILES if is_glob and last[0] != "." else Extent.WORKSPACE
        if _is_vital(place) or self.root.startswith(place.rstrip("/") + "/"):
            return Extent.SYSTEM
        if any(f"{place}/".endswith(f"/{store}/") for store in _GIT_STORES):
            return Extent.WORKSPACE
        is_unknown = self.is_lost and f"{self.folder}/".startswith(f"{place}/")
        return Extent.UNKNOWN if is_unknown else Extent.NOTHING


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
