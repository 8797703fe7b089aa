"""Commands that destroy the system, a home, a disk, or all of the workspace.

A variable that nothing sets stands for nothing, as it does for the shell: `rm -rf $X/*` is about
`/*`. This is a guard rail against mistakes. A program can destroy without naming anything: outside
of the workspace a sandbox holds that, and inside undo brings back what was there.
"""

import os
import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanocoder_kit_files.glob import BadPattern, expand_braces

from nanocoder_policy_rules.paths import real_path
from nanocoder_policy_rules.programs import FORMATTING, POWER, REMOVERS
from nanocoder_policy_rules.shell_text import Command, program_of
from nanocoder_policy_rules.shell_words import Word

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
_GIT_STORES: Final = (".git", ".git/objects", ".git/refs")
_TESTS: Final = ("-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-mtime", "-mmin")
_NARROWING: Final = frozenset((*_TESTS, "-empty", "-newer", "-size", "-user", "-perm", "-inum"))
_SETTING: Final = ("source", ".", "set", "eval", "read", "mapfile", "readarray", "printf")
_UNSET: Final = "$"
"""The sign for a part of a path that is unknown before the command runs."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*|[1-9@*])(:?[-=?+]|)([^}]*)\}")
_OF_ALL: Final = ".*?[!^]"
"""The characters of a glob of all names."""


def damage(context: "CallContext") -> str:
    """Describe what a command destroys, "" for nothing that counts."""
    script = context.script
    started = [words for command in script.commands for words in command.started]
    for words in started:
        if deed := _damage_by_program(program_of(words), [word.text for word in words[1:]]):
            return deed
    for redirect in (each for command in script.commands for each in command.redirects):
        if redirect.target and _DISK.fullmatch(redirect.target.text):
            return f"overwrites the disk {redirect.target.text}"
    if REMOVERS.keys().isdisjoint(map(program_of, started)):
        return ""
    shell = _Shell(context.folder, os.path.realpath(context.session.cwd))
    for command in script.commands:
        shell.follow(command)
        deeds = (deed for words in command.started if (deed := _removal(words, shell)))
        if deed := next(deeds, ""):
            return deed
    return ""


def _damage_by_program(name: str, arguments: Sequence[str]) -> str:
    if name in POWER or (name == "systemctl" and not POWER.isdisjoint(arguments)):
        return "switches the machine off"
    if name in {"cp", "mv"}:
        targets = arguments[-1:]
    elif name in FORMATTING or name.startswith("mkfs."):
        targets = [each.removeprefix("of=") for each in arguments if name != "dd" or "of=" in each]
    else:
        return ""
    disk = next(filter(_DISK.fullmatch, targets), "")
    return f"overwrites the disk {disk}" if disk else ""


def _removal(words: Sequence[Word], shell: "_Shell") -> str:
    """Describe what one command removes, or makes accessible, that counts."""
    name = program_of(words)
    removes = name not in {"chmod", "chown", "chgrp"}
    verb = "deletes" if removes else "changes who may use"
    for word in _operands(name, [word.text for word in words[1:]], words[1:]):
        target, unset = shell.lost(word, or_workspace=removes), shell.unset(word)
        if target and (name != "find" or unset or not _is_narrow(words)):
            advice = f" if {unset} is not set; write ${{{unset}:?}}" if unset else ""
            return f"{verb} {target!r} and everything in it{advice}"
    return ""


def _operands(name: str, texts: Sequence[str], words: Sequence[Word]) -> Sequence[Word]:
    """Return the operands whose directories *name* removes or opens to others."""
    operands = [word for word in words if not word.text.startswith("-")]
    if name == "find":
        removes = not {"-delete", "rm", "shred", "unlink"}.isdisjoint(texts)
        end = next((at for at, text in enumerate(texts) if text.startswith("-")), len(texts))
        return (words[:end] or (Word("."),)) if removes else ()
    if name == "rsync":  # it deletes there what its source does not have
        return operands[-1:] if any(text.startswith("--del") for text in texts) else ()
    return operands if _is_recursive(texts, REMOVERS.get(name, "")) else ()


def _is_recursive(texts: Sequence[str], letters: str) -> bool:
    is_long = any(len(text) > len("--") and "--recursive".startswith(text) for text in texts)
    short = (text for text in texts if text[:1] == "-" != text[1:2])
    return is_long or any(not {*letters}.isdisjoint(text) for text in short)


def _is_narrow(words: Sequence[Word]) -> bool:
    """Return True if find selects only some files."""
    return any(
        word.text in _NARROWING and {*"".join(each.text for each in words[at : at + 1])} - {*"*?./"}
        for at, word in enumerate(words, 1)
    )


class _Shell:
    """The working directory and variables of a script while its commands are followed.

    *folder* is "" where that is not known; *root* is the workspace.
    """

    def __init__(self, folder: str, root: str) -> None:
        self.folder, self.root = folder, root
        # Every shell has these, and of most of them nothing is known.
        self.values = dict.fromkeys(("USER", "TMPDIR", "PATH", "SHELL", "LOGNAME"), _UNSET)
        self.values |= {"PWD": folder, "HOME": os.path.expanduser("~")}

    def follow(self, command: Command) -> None:
        """Record the variables that a command sets, and the directory that it enters."""
        self.values |= {name: self._text(word) for name, word in command.assignments}
        if command.program in _SETTING:
            self.values[""] = _UNSET  # any may be set there
        elif command.program in {"cd", "pushd"}:
            self._enter(command.words[1] if len(command.words) > 1 else Word("~"))

    def _enter(self, word: Word) -> None:
        text = self._text(word) or "."
        is_known = not text.endswith(_UNSET) and (self.folder or text[0] in "/~")
        folder = os.path.join(self.folder, os.path.expanduser(text))
        self.folder = real_path(folder) if is_known else ""
        self.values["PWD"] = self.folder or _UNSET

    def lost(self, word: Word, *, or_workspace: bool) -> str:
        """Return the first path that a word stands for which must not be removed, "" for none."""
        text = self._text(word)
        try:
            targets = expand_braces(text) if word.is_computed else [text]
        except BadPattern:
            return ""
        return next((each for each in targets if self._is_vital(each, or_workspace)), "")

    def unset(self, word: Word) -> str:
        """Return the name of a variable in *word* that stands for nothing, "" without one."""
        names = (match[1] for match in _VARIABLE.finditer(word.text))
        return next((name for name in names if not self.values.get(name)), "")

    def _text(self, word: Word) -> str:
        """Expand a word; at a part that cannot be known, stop and append `$`.

        Variables that nothing sets stand for nothing.
        """
        start, sign, _ = _VARIABLE.sub(self._value, word.text).partition(_UNSET)
        return start + sign

    def _value(self, variable: re.Match[str]) -> str:
        name, operator, default = variable.groups()
        value = self.values.get(name, self.values.get("", ""))
        if not value and operator[-1:] == "?":  # it is set, and nobody knows to what
            return _UNSET
        return value or (default.strip("\"'") if operator[-1:] in {"-", "="} else "")

    def _is_vital(self, text: str, or_workspace: bool) -> bool:  # noqa: FBT001 - of one caller
        if not text or text.endswith(_UNSET):
            return False
        head, slash, last = text.rstrip("/").rpartition("/")
        is_glob = last[:1] in {"*", "?", "["} or last[:2] in {".*", ".?", ".["}
        path = (head or ("/" if slash else ".")) if is_glob else text
        if _is_vital(path):
            return True
        if not self.folder and path[0] not in "/~":
            return False
        place = real_path(os.path.join(self.folder, os.path.expanduser(path)))
        if place == self.root:
            return or_workspace and not {*last} - {*_OF_ALL} if is_glob else or_workspace
        if _is_vital(place) or self.root.startswith(place.rstrip("/") + "/"):
            return True
        return or_workspace and any(f"{place}/".endswith(f"/{store}/") for store in _GIT_STORES)


def _is_vital(path: str) -> bool:
    """Return True if a path is the root of the disk, of the system or of a home."""
    path = posixpath.normpath(path).replace("//", "/")
    is_home = path == os.path.expanduser("~") != "/" or _HOME.fullmatch(path) is not None
    return path in _VITAL or is_home
