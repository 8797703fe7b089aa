"""Copies of files before they were changed, outside the workspace."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from nanocoder_files.private_files import folder_for, private_directory, write_private

Backup = Callable[[str, bytes], Path]  # stores a path's earlier content, returns the copy's path


def keep_copy(backups: Path, most: int, path: str, data: bytes) -> Path:
    """Store *data* as the earlier content of *path*; return the copy's path. Raises OSError.

    At most *most* copies of each file exist below *backups*, a private directory: the first, which
    has the content before the session, and the newest. *backups* may be on another disk than the
    files.
    """
    folder = folder_for(backups, Path(path))
    private_directory(folder)
    copies = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    # The names sort by age, independent of the clock; two writes at once get two random parts.
    number = 1 + max((int(name[:20]) for name in copies if name[:20].isdecimal()), default=0)
    copy = f"{number:020d}-{os.urandom(2).hex()}-{_plain(path)}"
    write_private(folder / copy, data)
    for old in [*copies, copy][1 : 1 - most or None]:
        with contextlib.suppress(OSError):
            os.unlink(folder / old)
    return folder / copy


def _plain(path: str) -> str:
    name = path.rpartition("/")[2]
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)[-80:]
