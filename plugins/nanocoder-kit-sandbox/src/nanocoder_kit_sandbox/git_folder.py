"""The files of a workspace's repository that commands may change, and how.

Git keeps its objects and refs beside settings, hooks and the command list of a rebase, which
decide which programs it starts. So names are allowed, one by one. Nobody inside can put a
link there, so no name leads elsewhere. Every sandbox has the same rules for a file's content.
"""

from __future__ import annotations

import io
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Final

_FOLDERS: Final = frozenset(("objects", "refs", "logs", "rr-cache"))
PACKED: Final = "packed-refs"
SHALLOW: Final = "shallow"
_OF_REPOSITORY: Final = frozenset((PACKED, "config", SHALLOW, "gc.pid", "gc.log"))
_FILES: Final = _OF_REPOSITORY | frozenset(
    ("HEAD", "index", "AUTO_MERGE", "MERGE_MODE", "MERGE_RR", "MERGE_AUTOSTASH")
)
_ENDS: Final = ("_HEAD", "MSG")
_TEMPORARY: Final = ("index.stash.", "next-index-")
_OTHER_OBJECTS: Final = ("objects/info/alternates", "objects/info/http-alternates")
"""Files that name folders of other objects."""
_KEPT: Final = frozenset(
    ("", "HEAD", "index", "packed-refs", "config", SHALLOW, "objects", "refs", "objects/info")
)
"""Without these, or with others, git takes another folder for the repository, writes elsewhere, or
removes history.

So they stay, and a file among them is replaced only by a copy of what is beside it, its lock.
"""
LOCK: Final = ".lock"
_NEW: Final = ".new"
"""The end of the name of what becomes `packed-refs`, which has a lock besides."""
UNDER_WAY: Final = ("rebase-merge", "rebase-apply", "sequencer")
"""Folders of a rebase and the like, which say what git starts when it goes on."""
_BESIDE: Final = ".from-sandbox"
_OF_HASHES: Final = (*("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE"),)
OF_REPOSITORY: Final = ("packed-refs", SHALLOW)
OF_CHECKOUT: Final = (
    *("HEAD", "index", *_OF_HASHES, "FETCH_HEAD", "MERGE_MODE"),
    *("COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG"),
)
"""The files that come back from a copy; those of a checkout lie elsewhere in a worktree's."""
_MAX_BYTES: Final = 256 << 20
_HASH_LENGTHS: Final = (40, 64)


class GitFolder:
    """The *stores* of the workspace *root*, in which a command may change some names.

    The first is the repository's, the last the checkout's. *libraries* are where the modules are
    that know what an index may name, and *denied* the paths of the workspace that no command
    changes.
    """

    def __init__(
        self, root: str, stores: list[str], libraries: list[str], denied: frozenset[str]
    ) -> None:
        self._root, self._stores = root, stores
        self._libraries, self._denied = libraries, denied

    def find(self, path: str) -> tuple[str, str] | None:
        """Return the store that *path* is in, and the rest; None for a path that is elsewhere."""
        for store in reversed(self._stores):  # a worktree's lies in the repository's
            if f"{path}/".startswith(f"{store}/"):
                return store, path[len(store) + 1 :]
        return None

    def allows(self, store: str, name: str) -> bool:
        """Tell whether a command may make, change and remove what *name* is in *store*."""
        first, _, rest = name.partition("/")
        if name in _KEPT or name.lower().startswith(_OTHER_OBJECTS):
            return False
        if first in _FOLDERS:
            return True
        file = first.removesuffix(LOCK).removesuffix(_NEW)
        if store != self._stores[-1]:  # other checkouts have files of their own there
            return not rest and file in _OF_REPOSITORY
        is_known = file in _FILES or (file.isupper() and file.endswith(_ENDS))
        return not rest and (is_known or file.startswith(_TEMPORARY))

    def is_replaced(self, old: str, new: str) -> bool:
        """Tell whether a renaming puts a lock in the place of the file that it is for."""
        if (place := self.find(new)) is None or old not in (f"{new}{LOCK}", f"{new}{_NEW}"):
            return False
        store, name = place
        return name in _FILES and name in _KEPT and self.allows(store, f"{name}{LOCK}")

    def replace(self, folder: int, lock: bytes, path: str) -> str:
        """Put a copy of *lock* in the place of the file *path*, in *folder*; return why not, or "".

        It is a copy, for a command may still write to the lock. Raises: OSError.
        """
        content, facts = read_file(lock, folder), os.stat(lock, dir_fd=folder)
        if problem := self._problem_of(path, content):
            return f"{path.removeprefix(f'{self._root}/')} {problem}"
        file = os.fsencode(os.path.basename(path))
        beside = file + _BESIDE.encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = stat.S_IMODE(facts.st_mode)
        with open(os.open(beside, flags, mode, dir_fd=folder), "wb") as copy:
            copy.write(content)
        # By the time of its index git sees which files may have changed since.
        os.utime(beside, ns=(facts.st_mtime_ns, facts.st_mtime_ns), dir_fd=folder)
        os.replace(beside, file, src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink(lock, dir_fd=folder)
        return ""

    def _problem_of(self, path: str, content: bytes) -> str:
        name = os.path.basename(path)
        own = read_file(path) if os.path.lexists(path) else b""
        sys.path += [path for path in self._libraries if path not in sys.path]
        for package_name in ("nanocoder_kit_process", "nanocoder_kit_process.git"):
            # The imports of the packages themselves take longer than the rest.
            package: Any = type(sys)(package_name)
            location = package_name.replace(".", "/")
            package.__path__ = [f"{path}/{location}" for path in self._libraries]
            sys.modules.setdefault(package_name, package)
        return problem_of(name, content, own, self._root, self._denied)


def problem_of(
    name: str, content: bytes, own: bytes, workspace: str, denied: Collection[str]
) -> str:
    """Return the harm that *content* in place of *own* may do to git outside, or "".

    *name* is that of the file in `.git`, and *denied* the paths of *workspace* that no command
    changes.
    """
    if name in ("config", SHALLOW):  # git writes them anew also when it only looks for something
        return "" if content == own else "cannot be changed in the sandbox"
    if name == "index":
        # Few commands get here, and what is imported takes longer than most of them.
        from nanocoder_kit_process.git.arriving import problem_of_index

        return problem_of_index(content, own, lambda entry: _is_there(entry, workspace, denied))
    # One by one: a list of all would take many times the memory of the content.
    lines = (line.removesuffix(b"\n") for line in io.BytesIO(content))
    if name == "HEAD":
        line = content.removesuffix(b"\n")
        is_fine = is_hash(line) or _is_reference(line, b"ref: refs/")
    elif name == "packed-refs":
        if content.startswith(b"#"):  # only the first line may be a comment
            next(lines)
        is_fine = all(map(_is_packed, lines))
    else:
        is_fine = all(map(is_hash, lines)) if name in _OF_HASHES else b"\0" not in content
    return "" if is_fine else "is none that git makes"


def _is_there(entry: Any, workspace: str, denied: Collection[str]) -> bool:
    """Tell whether the person has the protected file that an index names, as it says."""
    path = f"{workspace}/{entry.path}"
    if not any(f"{path}/".startswith(f"{each}/") for each in denied):
        return False
    import hashlib

    try:
        content = read_file(path)
    except OSError:
        return False
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return bool(blob.digest() == entry.blob)


def _is_packed(line: bytes) -> bool:
    digest, has_name, name = line.removeprefix(b"^").partition(b" ")
    is_named = not has_name or _is_reference(name, b"refs/")
    return is_hash(digest) and is_named


def is_hash(word: bytes) -> bool:
    """Return True if *word* is the hash of an object."""
    return len(word) in _HASH_LENGTHS and not word.strip(b"0123456789abcdef")


def _is_reference(line: bytes, start: bytes) -> bool:
    name = line.removeprefix(start)
    is_word = name != b"" and min(name) > ord(" ") and b"\x7f" not in name
    return line.startswith(start) and is_word and b".." not in name  # it could lead elsewhere


def read_file(path: str | bytes | os.PathLike[str], folder: int | None = None) -> bytes:
    """Return the content of a regular file; raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags, dir_fd=folder), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
            raise PermissionError
        return file.read()
