"""Judge what a command removes; its words are resolved in the directory where it would run."""

import os
import posixpath
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final

from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.command_search import Text
from nanocoder_policy_rules.segment import Segment, program
from nanocoder_policy_rules.shell import compile_once

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
# Functions of common languages that remove a folder and everything in it.
_REMOVERS: Final = frozenset(("rmtree", "rmSync", "rmdirSync", "remove_dir_all", "rm_rf", "rimraf"))
_REMOVING: Final = _REMOVERS.union(_RECURSIVE, ("find", "rsync"))
_GIT_STORES: Final = (".git", ".git/objects", ".git/refs")
_NAME_TESTS: Final = frozenset(("-name", "-iname", "-path", "-ipath", "-regex", "-iregex"))
_OTHER_TESTS: Final = frozenset(
    (
        *("-empty", "-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin", "-newer", "-size"),
        *("-user", "-group", "-perm", "-samefile", "-inum", "-links", "-nouser", "-xtype"),
    )
)
_CHANGES_DIRECTORY: Final = frozenset(("cd", "pushd"))
_MAX_DIRECTORIES: Final = 16
_MAX_RESOLVED: Final = 256
_MAX_LOOKED_AT: Final = 64
_MAX_PATH_CHARS: Final = 4_096


class Extent(IntEnum):
    """How much is lost when a command removes something."""

    NOTHING = 0
    FILES = 1  # of the workspace, all of them
    WORKSPACE = 2  # with its history
    SYSTEM = 3  # or a home, or all of the disk


def may_remove(text: Text) -> bool:
    """Tell whether a command has a word that could remove something."""
    if not _REMOVING.isdisjoint(text.words):
        return True
    return not _REMOVING.isdisjoint([word.rpartition(".")[2] for word in text.words if "." in word])


class Removal:
    """Judges what commands remove that start in *directory*; *root* is the workspace."""

    def __init__(self, root: str, directory: str) -> None:
        self._place = root
        self._start = directory
        self._resolved = 0

    @cached_property
    def _root(self) -> str:
        return os.path.realpath(self._place)

    def destroys(self, text: Text) -> str:
        """Describe a removal that no undo reverts, or return ""."""
        if not text.once(may_remove):
            return ""
        deeds = (deed for deed, extent in self._deeds(text) if extent >= Extent.WORKSPACE)
        return next(deeds, "")

    def empties(self, text: Text) -> str:
        """Describe how the command empties the workspace, or return ""."""
        deeds = (deed for deed, extent in self._deeds(text) if extent == Extent.FILES)
        return next(deeds, "")

    def _deeds(self, text: Text) -> Iterator[tuple[str, Extent]]:
        if text.once(may_remove):
            for script in text.scripts:
                yield from self._in_script(script)

    def _in_script(self, script: Sequence[Segment]) -> Iterator[tuple[str, Extent]]:
        directories = [self._start]
        for segment, following in zip(script, [*script[1:], None], strict=True):
            before = directories
            for at, name in _programs(segment):
                if name in _CHANGES_DIRECTORY:
                    directories = self._enter_directory(directories, _target(segment.words, at))
                    continue
                arguments = segment.words[at + 1 :]
                if operands := _operands(name, arguments):
                    yield from self._extents(name, operands, arguments, directories)
            # Only after `&&` is it certain that the directory existed.
            if following is None or following.join != "&&":
                directories = list(dict.fromkeys([*directories, *before]))[:_MAX_DIRECTORIES]

    def _enter_directory(self, directories: Sequence[str], target: str) -> list[str]:
        # A longer path names no directory, so `cd` fails and the directory stays the same.
        changed = (
            directory
            if len(directory) + len(target) > _MAX_PATH_CHARS
            else self._resolve(target, directory)
            for directory in directories
        )
        return list(dict.fromkeys(changed))

    def _extents(
        self,
        name: str,
        operands: Sequence[str],
        arguments: Sequence[str],
        directories: Sequence[str],
    ) -> Iterator[tuple[str, Extent]]:
        removes = name not in {"chmod", "chown", "chgrp"}
        verb, least = (
            ("deletes", Extent.FILES) if removes else ("changes who may use", Extent.SYSTEM)
        )
        for word in operands:
            extent = max(self._extent(word, directory) for directory in directories)
            if extent >= least and not (name == "find" and _is_narrow(arguments, extent)):
                yield f"{verb} {word!r} and everything in it", extent

    def _extent(self, word: str, directory: str) -> Extent:
        """Return how much is lost when *word* is removed in *directory*."""
        path = word.removeprefix("$") if word.startswith("$/") else word
        if _is_vital(path):
            return Extent.SYSTEM
        head, slash, last = path.rstrip("/").rpartition("/")
        is_glob, with_hidden = last[:1] in {"*", "?", "["}, last[:2] in {".*", ".?", ".["}
        if is_glob or with_hidden:
            path = head or ("/" if slash else ".")
        place = self._resolve(path, directory)
        if place == self._root:
            return Extent.FILES if is_glob else Extent.WORKSPACE
        if _is_vital(place) or self._root.startswith(place.rstrip("/") + "/"):
            return Extent.SYSTEM
        is_history = any(f"{place}/".endswith(f"/{store}/") for store in _GIT_STORES)
        return Extent.WORKSPACE if is_history else Extent.NOTHING

    def _resolve(self, word: str, directory: str) -> str:
        path = os.path.join(directory, os.path.expanduser(word))
        self._resolved += 1
        if self._resolved > _MAX_RESOLVED:
            return posixpath.normpath(path)
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):  # too long, or with a NUL
            return posixpath.normpath(path)


def is_recursive(arguments: Sequence[str], letters: str) -> bool:
    """Tell whether options among *arguments* make a program go through whole folders."""
    for word in arguments:
        if word.startswith("--"):
            if "--recursive".startswith(word) and len(word) > len("--"):
                return True
        elif word.startswith("-") and not set(letters).isdisjoint(word):
            return True
    return False


def _programs(segment: Segment) -> list[tuple[int, str]]:
    """Return where the programs are that change the directory or remove something.

    A long list is cut in the middle: the first programs have the most operands, the last ones the
    fewest tests.
    """
    words = segment.words[:1] if segment.sure else segment.words
    named = [(at, program(word)) for at, word in enumerate(words)]
    removing = [at for at, name in named if name.rpartition(".")[2] in _REMOVING]
    looked_at = {*removing[:_MAX_LOOKED_AT], *removing[-_MAX_LOOKED_AT:]}
    return [(at, name) for at, name in named if name in _CHANGES_DIRECTORY or at in looked_at]


def _target(words: Sequence[str], at: int) -> str:
    """Return the directory that a `cd` at *at* changes to."""
    following = (words[later] for later in range(at + 1, len(words)))
    return next((word for word in following if not word.startswith("-")), "~")


def _operands(name: str, arguments: Sequence[str]) -> list[str]:
    """Return what *name* removes or makes accessible, [] if it does neither."""
    operands = [word for word in arguments if not word.startswith("-")]
    if name in _RECURSIVE:
        return operands if is_recursive(arguments, _RECURSIVE[name]) else []
    if name == "find":
        return [] if {"-delete", "rm", "shred", "unlink"}.isdisjoint(arguments) else operands
    if name == "rsync":  # it deletes there what its source does not have
        return operands[-1:] if any(word.startswith("--del") for word in arguments) else []
    return operands[:1] if name.rpartition(".")[2] in _REMOVERS else []


def _is_narrow(arguments: Sequence[str], extent: Extent) -> bool:
    """Tell whether find selects only some files."""
    for at, word in enumerate(arguments):
        is_negated = at > 0 and arguments[at - 1] in {"!", "-not"}
        if word in _NAME_TESTS and not is_negated:
            if not set("".join(arguments[at + 1 : at + 2])) <= set("*?./"):
                return True
        elif word in _OTHER_TESTS and extent < Extent.SYSTEM:
            return True
    return False


def _is_vital(word: str) -> bool:
    """Tell whether a path is the root of the disk, of the system or of a home, or all in one."""
    head, slash, last = word.rstrip("/").rpartition("/")
    if slash and (last[:1] in {"*", "?", "["} or last[:2] in {".*", ".?", ".["}):
        word = head or "/"
    path = posixpath.normpath(word).replace("//", "/")
    is_home = (
        path == os.path.expanduser("~") != "/" or compile_once(_HOME).fullmatch(path) is not None
    )
    return path in _PLACES or is_home
