"""Copies of files before they were changed, outside the workspace."""

import contextlib
import os
import time
from pathlib import Path

from nanocoder_files.private_files import private_directory, write_private


class Backups:
    """Keeps at most *keep* copies of each file in *folder*, which only its owner can enter.

    They are the first, which is the file as the session found it, and the newest. *folder* may be
    on another disk than the files.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def add(self, path: str, data: bytes) -> Path:
        """Store *data* as the content that *path* had, and return where; raises OSError."""
        target = self._target(path)
        write_private(target, data)
        self._prune(target.parent)
        return target

    def _target(self, path: str) -> Path:
        folder = self._of(path)
        private_directory(folder)
        # The name sorts by age; the random part keeps two writes in one tick apart.
        name = f"{time.time_ns():020d}-{os.urandom(2).hex()}-{_plain(path)}"
        return folder / name

    def of(self, path: str) -> list[Path]:
        """Return the copies of *path*, oldest first."""
        folder = self._of(path)
        return _sorted(folder) if folder.is_dir() else []

    def _of(self, path: str) -> Path:
        from hashlib import sha256  # as in content.digest

        return self._folder / sha256(os.fsencode(path)).hexdigest()[:32]

    def _prune(self, folder: Path) -> None:
        for old in _sorted(folder)[1 : 1 - self._keep or None]:
            with contextlib.suppress(OSError):
                old.unlink()


def _sorted(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _plain(path: str) -> str:
    name = path.rpartition("/")[2]
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)[-80:]
