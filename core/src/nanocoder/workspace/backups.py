"""Copies of files before they were changed, outside the workspace."""

import contextlib
import os
import time
from pathlib import Path


class Backups:
    """Keeps at most *keep* copies of each file in *folder*, readable by their owner alone.

    They are the first, which is the file as the session found it, and the newest.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def add(self, path: str, data: bytes) -> Path:
        """Store *data* as the content that *path* had, and return where; raises OSError."""
        folder = self._of(path)
        # By itself, since the mode does not count for parents.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        # The name sorts by age; the random part keeps two writes in one tick apart.
        name = f"{time.time_ns():020d}-{os.urandom(2).hex()}-{_plain(path)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = folder / name
        fd = os.open(target, flags, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
        except OSError:
            target.unlink(missing_ok=True)
            raise
        self._prune(folder)
        return target

    def of(self, path: str) -> list[Path]:
        """Return the copies of *path*, oldest first."""
        folder = self._of(path)
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def _of(self, path: str) -> Path:
        from hashlib import sha256  # as in content.digest

        return self._folder / sha256(os.fsencode(path)).hexdigest()[:32]

    def _prune(self, folder: Path) -> None:
        for old in sorted(folder.iterdir())[1 : 1 - self._keep or None]:
            with contextlib.suppress(OSError):
                old.unlink()


def _plain(path: str) -> str:
    name = path.rpartition("/")[2]
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)[-80:]
