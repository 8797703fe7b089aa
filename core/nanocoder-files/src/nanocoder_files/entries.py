"""The entries of one directory, with their names as they are shown."""

import os
from typing import Literal

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.ignore import Chain, names_not_ignored
from nanocoder_files.path_text import escape_path, unescape_path

Kind = Literal["file", "dir", "link", "other"]


@frozen(eq=False, repr=False)
class Entry(Value):
    """One thing in a directory; *size* in bytes and *mtime* in seconds are of the thing itself.

    *path* is relative to the workspace. A link is a "link", whatever it points to; "other" is a
    pipe, socket or device. Where the system tells nothing, *size* and *mtime* are 0.
    *problem* says why a walk could not go into a directory.
    """

    name: str
    path: str
    kind: Kind
    size: int = 0
    mtime: float = 0.0
    problem: str = ""


def names_in(fd: int) -> tuple[list[str], list[str]]:
    """Return the names of files and of directories, each sorted."""
    names: list[str] = []
    folders: list[str] = []
    with os.scandir(fd) as items:
        for item in items:
            try:
                if item.is_file(follow_symlinks=False):
                    names.append(item.name)
                elif item.is_dir(follow_symlinks=False):
                    folders.append(item.name)
            except OSError:  # neither, as far as can be known
                continue
    return sorted(_shown(names)), sorted(_shown(folders))


def _shown(names: list[str]) -> list[str]:
    joined = "".join(names)
    if "\\" not in joined and joined.isprintable():
        return names
    return [escape_path(name) for name in names]


def encoded(path: str) -> bytes:
    """Return the bytes that *path* has on the disk."""
    return os.fsencode(unescape_path(path))


def not_ignored(chain: Chain, prefix: bytes, names: list[str]) -> list[str]:
    """Return those of the *names* of files in one directory, at *prefix*, that are not ignored."""
    if "\\" not in "".join(names):
        return names_not_ignored(chain, prefix, names)
    raw = {unescape_path(name): name for name in names}  # rules are of names, not of escapes
    return [raw[name] for name in names_not_ignored(chain, prefix, list(raw))]


def entry_of(item: "os.DirEntry[str]", prefix: str, *, details: bool) -> Entry:
    """Return what *item* of the directory at *prefix* is; without *details* only its kind."""
    name = escape_path(item.name)
    kind = _kind(item)
    if not details:
        return Entry(name, prefix + name, kind)
    try:
        status = item.stat(follow_symlinks=False)
    except OSError:
        return Entry(name, prefix + name, kind)
    return Entry(name, prefix + name, kind, status.st_size, status.st_mtime)


def _kind(item: "os.DirEntry[str]") -> Kind:
    try:
        if item.is_file(follow_symlinks=False):
            return "file"
        if item.is_dir(follow_symlinks=False):
            return "dir"
        return "link" if item.is_symlink() else "other"
    except OSError:
        return "other"
