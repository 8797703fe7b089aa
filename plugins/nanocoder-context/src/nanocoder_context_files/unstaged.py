"""The number of changed tracked files of a repository, from git's index, without running git.

Format: https://git-scm.com/docs/index-format.
"""

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAX_INDEX_BYTES = 1_000_000
"""Size limit of the index: about 10,000 files, which take some 30 ms."""
MAX_READ_BYTES = 2_000_000
"""Limit of the content read to compare files of which only the time differs."""
_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">II II II I II I 20s H")
_LINK, _SUBMODULE = 0o120000, 0o160000
_EXTENDED, _ASSUMED, _STAGE, _SKIPPED = 0x4000, 0x8000, 0x3000, 0x4000
_EXTENDED_BYTES = 2
_ALIGNMENT = 8
_COMPRESSED = 4
"""The version in which a name begins with a part of the one before it."""


class _Entry(NamedTuple):
    name: bytes
    mtime: tuple[int, int]
    mode: int
    size: int
    digest: bytes
    is_merged: bool


def count_unstaged(folder: Path, root: Path) -> int | None:
    """Return the number of tracked files of *root* that differ from the index in *folder*.

    Returns None if it is unknown, or expensive. Untracked files are ignored.
    """
    try:
        data = (folder / "index").read_bytes() if _size(folder / "index") else b""
        return _count(list(_entries(data)), root) if data else None
    except (OSError, ValueError, IndexError, struct.error):
        return None


def _size(path: Path) -> int:
    status = os.lstat(path)
    is_fit = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_INDEX_BYTES
    return status.st_size if is_fit else 0


def _entries(data: bytes) -> Iterator[_Entry]:
    """Yield the entries to compare with their files; raises ValueError for another format."""
    signature, version, count = _HEADER.unpack_from(data)
    # With a digest of 32 bytes, and where a part of the index is elsewhere, this sum is another.
    is_whole = hashlib.sha1(data[:-20], usedforsecurity=False).digest() == data[-20:]
    if signature != b"DIRC" or version not in {2, 3, _COMPRESSED} or not is_whole:
        raise ValueError(version)
    at, name = _HEADER.size, b""
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, at)
        _, _, seconds, fraction, _, _, mode, _, _, size, digest, flags = fields
        start, more = at + _ENTRY.size, 0
        if flags & _EXTENDED:
            more = int.from_bytes(data[start : start + _EXTENDED_BYTES])
            start += _EXTENDED_BYTES
        shared = 0
        if version == _COMPRESSED:
            dropped, start = _varint(data, start)
            shared = len(name) - dropped
        end = data.index(b"\0", start)
        name = name[:shared] + data[start:end]
        is_padded = version != _COMPRESSED
        at += ((end - at) // _ALIGNMENT + 1) * _ALIGNMENT if is_padded else end + 1 - at
        if not (flags & _ASSUMED or more & _SKIPPED or mode == _SUBMODULE):
            yield _Entry(name, (seconds, fraction), mode, size, digest, not flags & _STAGE)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _count(entries: list[_Entry], root: Path) -> int | None:
    """Return the number of files that differ from their entries, or None if that is expensive."""
    changed, budget = {entry.name for entry in entries if not entry.is_merged}, MAX_READ_BYTES
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for entry in entries:
            try:
                status = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                changed.add(entry.name)
                continue
            if status.st_size != entry.size or not _is_same_kind(entry.mode, status.st_mode):
                changed.add(entry.name)
            elif divmod(status.st_mtime_ns, 1_000_000_000) != entry.mtime:
                budget -= entry.size
                if budget < 0:
                    return None
                if _digest(entry, folder) != entry.digest:
                    changed.add(entry.name)
    finally:
        os.close(folder)
    return len(changed)


def _is_same_kind(tracked: int, mode: int) -> bool:
    if tracked == _LINK:
        return stat.S_ISLNK(mode)
    return stat.S_ISREG(mode) and bool(mode & stat.S_IXUSR) == bool(tracked & stat.S_IXUSR)


def _digest(entry: _Entry, folder: int) -> bytes:
    """Return the name that git gives to the content of a file, or of a link."""
    if entry.mode == _LINK:
        content = os.readlink(entry.name, dir_fd=folder)
    else:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(entry.name, flags, dir_fd=folder), "rb") as file:
            content = file.read(entry.size + 1)
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).digest()
