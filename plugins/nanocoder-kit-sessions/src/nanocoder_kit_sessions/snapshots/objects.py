"""Objects and references of a git repository, written without git, which starts slowly.

One process writes at a time. Every write is atomic, so a killed process leaves at most a file
`tmp_obj_…`, which git's garbage collection removes.
"""

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Final

from nanocoder_files import open_private

BEST_SPEED: Final = 1
WHO: Final = "nanocoder <> {at} +0000"


def name_of(kind: str, data: bytes) -> str:
    """Return the name that git gives to an object."""
    return sha1(_header(kind, data) + data, usedforsecurity=False).hexdigest()


def has_object(repository: Path, name: str) -> bool:
    """Return True if the object *name* is loose: it has a file of its own and is in no pack."""
    return os.path.exists(_file_of(repository, name))


def write_commit(repository: Path, parent: str, contents: Iterable[bytes], at: int) -> str:
    """Write a commit with *contents*, under their names as objects, and those of *parent*.

    Raises: OSError.
    """
    names = sorted({_write(repository, "blob", data) for data in contents})
    entries = (b"100644 %s\0%s" % (name.encode(), bytes.fromhex(name)) for name in names)
    lines = [f"tree {_write(repository, 'tree', b''.join(entries))}"]
    lines += [f"parent {parent}"] if parent else []
    lines += [f"{role} {WHO.format(at=at)}" for role in ("author", "committer")]
    return _write(repository, "commit", "\n".join([*lines, "", ""]).encode())


def head_of(repository: Path, reference: str) -> str:
    """Return the name of the commit that *reference* points to, or ""."""
    with suppress(OSError):
        return (repository / reference).read_text(encoding="ascii").strip()
    with suppress(OSError):  # git moves references here when it packs the objects
        packed = (repository / "packed-refs").read_text(encoding="utf-8").splitlines()
        rows = (line.partition(" ") for line in packed)
        return next((commit for commit, _, name in rows if name == reference), "")
    return ""


def set_head(repository: Path, reference: str, commit: str) -> None:
    """Let *reference* point to *commit*; raises OSError."""
    _put(f"{repository}/{reference}", f"{commit}\n".encode(), str(repository / "tmp_ref"))


def _write(repository: Path, kind: str, data: bytes) -> str:
    name = name_of(kind, data)
    if not has_object(repository, name):
        content = zlib.compress(_header(kind, data) + data, BEST_SPEED)
        beside = f"{repository}/objects/tmp_obj_{name}"
        _put(_file_of(repository, name), content, beside)
    return name


def _header(kind: str, data: bytes) -> bytes:
    return b"%s %d\0" % (kind.encode(), len(data))


def _file_of(repository: Path, name: str) -> str:
    # A look at the files writes dozens, and a Path for each part would take most of the time.
    return f"{repository}/objects/{name[:2]}/{name[2:]}"


def _put(path: str, content: bytes, beside: str) -> None:
    with os.fdopen(open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(content)
    try:
        os.replace(beside, path)
    except FileNotFoundError:
        os.mkdir(os.path.dirname(path), 0o700)
        os.replace(beside, path)
