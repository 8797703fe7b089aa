"""Files of a session under sanitized names, written once, within a size limit."""

import os
import re
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from nanocoder_files import private_directory, write_private

ODD_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9._-]+")
MAX_NAME_CHARS: Final = 80
WRITTEN_ONCE: Final = 0o400
"""The mode of a file that may be evicted; a file still in use, like a transcript, stays."""


def keep_file(folder: Path, name: str, data: bytes, *, limit_bytes: int = 0) -> Path | None:
    """Write *data* to a new file in *folder*, named like *name*; raises OSError.

    With a limit the oldest files that were written with one are deleted to make room; returns None,
    and writes nothing, if *data* alone is larger.
    """
    if limit_bytes and len(data) > limit_bytes:
        return None
    private_directory(folder)
    if limit_bytes:
        _evict_oldest(folder, limit_bytes - len(data))
    stem = ODD_CHARACTERS.sub("_", name).strip("._")[:MAX_NAME_CHARS] or "artifact"
    for number in count():  # a name that is taken gets a number
        path = folder / (f"{number}-{stem}" if number else stem)
        with suppress(FileExistsError):
            write_private(path, data)
            if limit_bytes:
                path.chmod(WRITTEN_ONCE)
            return path
    return None


def _evict_oldest(folder: Path, limit_bytes: int) -> None:
    """Remove the oldest files of *folder* until the others that may go have *limit_bytes*."""
    files = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if stat.S_IMODE(status.st_mode) == WRITTEN_ONCE:
                files.append((status.st_mtime_ns, entry.path, status.st_size))
    total = sum(size for _, _, size in files)
    for _, path, size in sorted(files):
        if total <= limit_bytes:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= size
