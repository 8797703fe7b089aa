"""Changes of references in a repository outside, by git itself."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeGuard

from nanocoder_kit_process.git import git

from nanocoder_kit_sandbox.git_files import HEAD, SYMBOLIC
from nanocoder_kit_sandbox.git_folder import PACKED, is_hash

_SETTINGS: Final = """\
[core]
repositoryFormatVersion = 1
logAllRefUpdates = false
filesRefLockTimeout = 2000
packedRefsTimeout = 2000
[extensions]
objectFormat = {}
"""
_SHA256_CHARS: Final = 64
_MAX_STEPS: Final = 3
"""The most references that lead to a value one by one; git itself follows two more."""

Values = Mapping[str, bytes | None]
"""The contents of references, by their names; None for a reference that is missing."""


class Transaction:
    """A change of references in *store* from their *old* values to *new* ones, all or none.

    Git does it, with its locks, in a *folder* of ours that leads to the references and objects of
    *store*, but to no settings, hooks and logs. *head* is what HEAD gets besides, "" for no change.
    That and the symbolic references are written by others, between `check` and `commit`.
    """

    def __init__(
        self, store: str, folder: Path, workspace: Path, old: Values, new: Values, head: bytes
    ) -> None:
        self._store, self._folder, self._workspace = store, folder, workspace
        self._old, self._new, self._head = old, new, head
        self._after = {name: value for name, value in {**old, **new}.items() if value is not None}
        self.symbolic = {name: value for name, value in new.items() if is_symbolic(value)}
        """The symbolic references among the new values."""
        named = {name for name, value in new.items() if value is not None}
        above = _above(named)
        self._blocking = {
            name
            for name in new.keys() - named
            if name in above or not named.isdisjoint(_above([name]))
        }
        """Those to be deleted first, in a transaction of its own: they are in the way of others."""

    def check(self) -> str:
        """Return a reason against the commit, or ""; raises ToolError (git_failed), OSError.

        A transaction alone needs no such check: git makes it before the first change.
        """
        if not (self._blocking or self.symbolic or self._head):
            return ""
        heads = {HEAD: self._head} if self._head else {}
        if problem := self._problem_of_names():
            return problem
        for name, value in {**self._after, **heads}.items():
            if not self._has_end(value):
                return f"{name} leads to itself, or over too many references"
        contents = {**(self._new if self._blocking else {}), **heads}
        values = {name: value for name, value in contents.items() if value and is_hash(value)}
        links = filter(is_symbolic, (*self.symbolic.values(), self._head))
        unborn = {os.fsdecode(_target(link)) for link in links} - self._after.keys()
        if not values and not unborn:
            return ""
        feed = b"start\0"
        for name, value in values.items():
            feed += _command(os.fsencode(name), b"", value)
        feed += b"prepare\0abort\0start\0"
        for name in sorted(unborn):
            feed += b"verify %b\0\0" % os.fsencode(name)
        self._folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as empty:
            Path(empty, "refs").mkdir()
            self._run(Path(empty), feed + b"abort\0")
        return ""

    def commit(self) -> None:
        """Write the values, if until then the references have the old ones.

        Raises: ToolError (git_failed), OSError.
        """
        names = self._new.keys() - self.symbolic
        feed = b""
        for together in filter(None, (self._blocking, names - self._blocking)):
            feed += b"start\0"
            for name in sorted(together):
                feed += _command(os.fsencode(name), self._old.get(name), self._new[name])
            feed += b"commit\0"
        if not feed:
            return
        self._folder.mkdir(exist_ok=True)
        for name in ("refs", PACKED):
            with suppress(FileExistsError):
                (self._folder / name).symlink_to(f"{self._store}/{name}")
        self._run(self._folder, feed)

    def _problem_of_names(self) -> str:
        """Return a problem of a reference that is a folder of another or loses its value, or ""."""
        above = _above(self._after)
        for name in self._new.keys() & self._after.keys():
            folders = _above([name])
            is_taken = name in self.symbolic and not folders.isdisjoint(self._old)
            if is_taken or name in above or not folders.isdisjoint(self._after):
                return f"{name} is the name of a folder of references, or in a reference"
            earlier = self._old.get(name)
            if name in self.symbolic and earlier is not None and not is_symbolic(earlier):
                return f"{name} names another reference now, and its own value is lost"
        return ""

    def _has_end(self, value: bytes | None) -> bool:
        for _ in range(_MAX_STEPS):
            if not is_symbolic(value):
                return True
            value = self._after.get(os.fsdecode(_target(value)))
        return not is_symbolic(value)

    def _run(self, folder: Path, feed: bytes) -> None:
        (folder / HEAD).write_text("ref: refs/heads/none\n", encoding="ascii")
        values = (*self._old.values(), *self._new.values(), self._head)
        is_sha256 = any(
            value and len(value) == _SHA256_CHARS and is_hash(value) for value in values
        )
        settings = _SETTINGS.format("sha256" if is_sha256 else "sha1")
        (folder / "config").write_text(settings, encoding="ascii")
        variables = {"GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": f"{self._store}/objects"}
        words = ("update-ref", "--no-deref", "--stdin", "-z")
        git(folder, *words, workspace=self._workspace, variables=variables, feed=feed)


def is_symbolic(value: bytes | None) -> TypeGuard[bytes]:
    """Return True if a reference of this *value* names another one."""
    return value is not None and value.startswith(SYMBOLIC)


def _target(value: bytes) -> bytes:
    return value.removeprefix(SYMBOLIC)


def _above(names: Iterable[str]) -> set[str]:
    """Return the folders that *names* are in."""
    folders: set[str] = set()
    for name in names:
        while (name := name.rpartition("/")[0]) and name not in folders:
            folders.add(name)
    return folders


def _command(name: bytes, old: bytes | None, new: bytes | None) -> bytes:
    """Return the words that change one reference; an old value that is symbolic is not compared."""
    before = b"" if is_symbolic(old) else old
    if new is None:
        return b"delete %b\0%b\0" % (name, before or b"")
    return b"update %b\0%b\0%b\0" % (name, new, b"0" * len(new) if before is None else before)
