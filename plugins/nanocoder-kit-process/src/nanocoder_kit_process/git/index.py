"""The index of a checkout: which files it names, and whether one is another repository."""

import os
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

MAX_INDEX_BYTES: Final = 256 << 20
_REPOSITORY: Final = 0o160000
_HEADER: Final = struct.Struct(">4sII")
_ENTRY: Final = struct.Struct(">24xI12x20sH")  # the mode, the SHA-1, and the flags
_ENTRY_OF_SHA256: Final = struct.Struct(">24xI12x32sH")
_EXTENDED: Final = 0x4000
_LENGTH: Final = 0xFFF
_COMPRESSED: Final = 4
"""The version in which a name is stored as its difference from the one before."""
_OFFSETS: Final = b"IEOT"
_SPLIT: Final = b"link"
_END: Final = b"EOIE"
_EXTENSION: Final = struct.Struct(">4sI")
_HASH_BYTES: Final = 20
_END_BYTES: Final = _EXTENSION.size + 4 + _HASH_BYTES


class Entry(NamedTuple):
    """A file that an index names: its mode, the SHA-1 of its content, its path from the top."""

    mode: int
    blob: bytes
    path: str


def path_of_repository(index: str) -> str:
    """Return the path at which an index names another repository, "" without one.

    Raises: ValueError for an index that cannot be read.
    """
    return next(_repositories(_read(index)), "")


def entries_of(content: bytes) -> list[Entry]:
    """Return the entries of the index *content*; b"" is an empty index.

    Raises: ValueError for an invalid index.
    """
    try:
        return list(_entries(content)) if content else []
    except (struct.error, IndexError) as error:
        raise ValueError(f"the index cannot be read: {error}") from error


def blobs_of(content: bytes) -> Iterator[Entry]:
    """Yield the entries of an index as far as they can be read, whatever is behind them.

    They are read as if named by SHA-1, and again by SHA-256; one of the two gives other paths.
    """
    for form in (_ENTRY, _ENTRY_OF_SHA256):
        with suppress(ValueError, IndexError, struct.error):
            yield from _entries(content, form, is_strict=False)


def tracked_files(index: str) -> list[str]:
    """Return the paths that an index names, relative to the top of its checkout.

    Raises: ValueError for an index that cannot be read.
    """
    return [entry.path for entry in _read(index)]


def is_repository(entry: Entry) -> bool:
    """Return True if an entry is another repository, which git would read."""
    return stat.S_IFMT(entry.mode) == _REPOSITORY


def _repositories(entries: Iterable[Entry]) -> Iterator[str]:
    return (entry.path for entry in entries if is_repository(entry))


def _read(index: str) -> Iterator[Entry]:
    try:
        if not os.path.lexists(index):
            return
        if not os.path.isfile(index) or os.path.getsize(index) > MAX_INDEX_BYTES:
            raise ValueError(index)
        with open(index, "rb") as file:
            yield from _entries(file.read())
    except (OSError, struct.error, IndexError) as error:
        raise ValueError(index) from error


def _entries(
    content: bytes, form: struct.Struct = _ENTRY, *, is_strict: bool = True
) -> Iterator[Entry]:
    """Yield the entries; raises ValueError, IndexError or struct.error for an invalid index.

    One is also invalid, when *is_strict*, where git may read other entries than these.
    """
    signature, version, count = _HEADER.unpack_from(content)
    # A table of offsets lets git read other entries than those that follow each other.
    is_known = signature == b"DIRC" and version in (2, 3, 4)
    if not is_known or (is_strict and _OFFSETS in content):
        raise ValueError(version)
    at, name = _HEADER.size, b""
    for _ in range(count):
        mode, blob, flags = form.unpack_from(content, at)
        start = at + form.size + (2 if flags & _EXTENDED else 0)
        length = flags & _LENGTH
        shared = 0
        if version == _COMPRESSED:
            removed, start = _variable_number(content, start)
            shared = len(name) - removed
        if length == _LENGTH:
            length = shared + content.index(b"\0", start) - start
        end = start + length - shared
        if not 0 <= shared <= length:
            raise ValueError(length)
        name = name[:shared] + content[start:end]
        yield Entry(mode, blob, os.fsdecode(name))
        # Without compression an entry is filled up with NULs to a multiple of eight bytes.
        at = end + 1 if version == _COMPRESSED else at + (end - at) // 8 * 8 + 8
    if is_strict:
        _check_extensions(content, at)


def _check_extensions(content: bytes, at: int) -> None:
    """Raise ValueError where git reads further entries, or extensions elsewhere than at *at*."""
    size = len(content) - _HASH_BYTES
    end = content[size - _END_BYTES : size]
    if end.startswith(_END) and end[_EXTENSION.size :][:4] != at.to_bytes(4, "big"):
        raise ValueError("its extensions are elsewhere")
    while at <= size - _EXTENSION.size:
        name, length = _EXTENSION.unpack_from(content, at)
        if name == _SPLIT:
            raise ValueError("it is split")
        at += _EXTENSION.size + length
    if at > size:
        raise ValueError("it ends too early")


def _variable_number(content: bytes, at: int) -> tuple[int, int]:
    """Return a number whose bytes have a high bit while more follow, and where it ends."""
    byte = content[at]
    number = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = content[at]
        number = ((number + 1) << 7) | (byte & 0x7F)
    return number, at + 1
