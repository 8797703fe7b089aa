"""A note of the temporary file of a write, so that a kill does not leave that file for ever.

Each workspace notes its path outside of itself, in a file that is locked while its process lives
and empty between two writes. A later session in the same directory removes what such a note names.
"""

import contextlib
import json
import os
import stat as mode_of
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nanocoder_files.beneath import Beneath, Place
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.private_files import (
    create_locked,
    folder_for,
    lock_ownerless,
    remove_if_empty,
)
from nanocoder_files.writing import stray_owner, temporary_name

SUFFIX: Final = ".writing"
MAX_NOTE_BYTES: Final = 65_536


class WriteNote:
    """The note of one workspace in *root*, made below *base* at the first write.

    Without a *base* nothing is noted.
    """

    def __init__(self, base: Path | None = None, root: Path = Path()) -> None:
        self._base = base
        self._root = root
        self._path = Path()
        self._beginning = f'{{"root": {json.dumps(str(root))}, "path": '
        self._fd = -1
        # A late thread may still write while the session closes.
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def file(self, place: Place) -> Iterator[str]:
        """Return the name of a new file beside *place*; it is noted until the write is over."""
        name = temporary_name(place.name)
        # A write goes on without its note: only a kill would leave the file.
        with self._lock, contextlib.suppress(OSError):
            self._note(place.path.removesuffix(place.name) + name)
        try:
            yield name
        finally:
            with self._lock, contextlib.suppress(OSError):
                if self._fd >= 0:
                    os.ftruncate(self._fd, 0)

    def _note(self, path: str) -> None:
        if self._base is None:
            return
        if self._fd < 0:
            folder = folder_for(self._base, self._root)
            self._path, self._fd = create_locked(folder, str(os.getpid()), SUFFIX)
        os.write(self._fd, f"{self._beginning}{json.dumps(path)}}}".encode())

    def close(self) -> None:
        """Remove the note; a later write makes another."""
        with self._lock:
            if self._fd >= 0:
                _remove(self._path, self._fd)
                self._fd = -1
                remove_if_empty(self._path.parent)


def take_noted_paths(folder: Path) -> Iterator[str]:
    """Yield the paths that dead processes have noted in *folder*, and forget each; raises OSError.

    A note is forgotten when the next one is asked for.
    """
    for path, fd in lock_ownerless(folder, SUFFIX):
        with contextlib.suppress(ValueError, KeyError, TypeError):  # mostly it is empty
            yield str(json.loads(os.pread(fd, MAX_NOTE_BYTES, 0))["path"])
        _remove(path, fd)


def remove_temporary(beneath: Beneath, path: str) -> None:
    """Remove the file that a dead process has noted, if it is there and can be one of ours."""
    with (
        contextlib.suppress(OSError, ValueError, WorkspaceError),
        beneath.locate(path, follow=False) as place,
    ):
        is_where_it_was = place.path == path  # no folder on the way has become a link
        is_file = mode_of.S_ISREG(place.stat().st_mode)
        if is_where_it_was and is_file and stray_owner(place.name):
            os.unlink(place.name, dir_fd=place.fd)


def _remove(path: Path, fd: int) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(fd)
