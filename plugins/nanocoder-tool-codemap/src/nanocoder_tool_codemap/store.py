"""The map of a workspace, stored between sessions in the user's cache directory.

The file only saves time: if it is missing, broken, foreign or of another version, everything is
read again.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import frozen
from nanocoder import cache_dir
from nanocoder_files import open_private, private_directory, replace_file

from nanocoder_tool_codemap.record import Record

VERSION = 2
"""Increases with every change to the contents of a record or to how a file is read."""
MAX_BYTES = 200_000_000
EMPTY: Mapping[str, Any] = {}


@frozen
class Stamp:
    """The state of a file when it was read: *size* in bytes, *mtime* in seconds, SHA-256."""

    size: int
    mtime: float
    digest: str


@frozen
class Stored:
    """The *stamps* of paths and the *records* of digests.

    *ranks* are valid as long as no file changes; they are empty until they are computed.
    """

    stamps: Mapping[str, Stamp] = EMPTY
    records: Mapping[str, Record] = EMPTY
    ranks: Mapping[str, float] = EMPTY


def file_of(root: Path) -> Path:
    """Return the cache file for the workspace at *root*; raises ConfigError without a home."""
    return cache_dir() / "codemap" / f"{sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def load(path: Path) -> Stored:
    """Read the cache file; empty when it is of no use."""
    try:
        data = _own_bytes(path)
        value = json.loads(data) if data else {}
        if not isinstance(value, dict) or value.get("version") != VERSION:
            return Stored()
        records = {digest: Record(item) for digest, item in value["records"].items()}
        stamps = {name: Stamp(*item) for name, item in value["stamps"].items()}
        ranks = {name: float(item) for name, item in value["ranks"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Stored()
    # A stamp without its record would hide that the file was never read.
    if any(item.digest not in records for item in stamps.values()):
        return Stored()
    return Stored(stamps, records, ranks if ranks.keys() == stamps.keys() else {})


def save(path: Path, stored: Stored) -> None:
    """Write the cache file in one step; a cache that cannot be written is no failure."""
    value = {
        "version": VERSION,
        "stamps": {
            name: [item.size, item.mtime, item.digest] for name, item in stored.stamps.items()
        },
        "records": {digest: item.stored for digest, item in stored.records.items()},
        "ranks": dict(stored.ranks),
    }
    data = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
    with suppress(OSError):
        private_directory(path.parent)
        replace_file(path, data)


def _own_bytes(path: Path) -> bytes:
    """Return the content of *path* if the file is ours and only we can write it."""
    with os.fdopen(open_private(path), "rb") as file:
        status = os.fstat(file.fileno())
        is_ours = status.st_uid == os.geteuid() and not status.st_mode & 0o022
        return file.read() if is_ours and status.st_size <= MAX_BYTES else b""
