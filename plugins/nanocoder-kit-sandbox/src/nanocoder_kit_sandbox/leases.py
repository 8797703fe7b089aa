"""Leases: a session holds a locked file as long as it lives, so that others see who was killed.

Beside it are the session's own folders, and notes on what a command that runs inside may have made.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from nanocoder_files import create_locked, lock_ownerless

SUFFIX: Final = ".lease"
NOTES: Final = ".notes"
ROOT: Final = "root"
"""The key of a note with the path of the workspace."""
FOLDERS: Final = ("", ".git", ".rules", ".layers")
FILES: Final = (".socket", ".filter")


class Lease:
    """The files of one session beside *tmp*, its own /tmp; *descriptor* is of the locked file."""

    def __init__(self, tmp: Path, descriptor: int) -> None:
        self.tmp = tmp
        self._descriptor = descriptor
        self._noted = ""

    def renew(self) -> None:
        """Take note that the session lives now."""
        os.utime(self._descriptor)

    @property
    def renewed_s(self) -> float:
        """When the session certainly lived, in seconds since the epoch."""
        times = [os.fstat(self._descriptor).st_mtime]
        with contextlib.suppress(OSError):
            times.append(self._notes.stat().st_mtime)
        return max(times)

    def note(self, what: Any) -> None:
        """Keep *what*, as JSON, for a later session, if this one is killed; None forgets it."""
        text = "" if what is None else json.dumps(what)
        if text == self._noted:
            return
        if text:
            beside = self._notes.with_suffix(".new")
            beside.write_text(text, encoding="utf-8")
            beside.replace(self._notes)
        else:
            self._notes.unlink(missing_ok=True)
        self._noted = text

    def noted(self) -> Any:
        """Return what a killed session noted; None where it noted nothing."""
        try:
            return json.loads(self._notes.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def is_needed(self) -> bool:
        """Tell whether a killed session noted something about a workspace that still exists."""
        noted = self.noted()
        root = noted.get(ROOT) if isinstance(noted, dict) else None
        return isinstance(root, str) and os.path.isdir(root)

    def clear(self) -> None:
        """Remove the session's folders."""
        for suffix in FOLDERS:
            shutil.rmtree(self.tmp.with_suffix(suffix), ignore_errors=True)
        for suffix in FILES:
            self.tmp.with_suffix(suffix).unlink(missing_ok=True)

    def end(self) -> None:
        """Remove all files of the session, the lease last."""
        self.clear()
        self._notes.unlink(missing_ok=True)
        self.tmp.with_suffix(SUFFIX).unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Give the lock back, and leave the files."""
        os.close(self._descriptor)

    @property
    def _notes(self) -> Path:
        return self.tmp.with_suffix(NOTES)


def take_lease(base: Path) -> Lease:
    """Make the folder of a new session in *base*; raises OSError."""
    path, descriptor = create_locked(base, "tmp", SUFFIX)
    tmp = path.with_suffix("")
    tmp.mkdir(mode=0o700)
    return Lease(tmp, descriptor)


def leases_of_killed(base: Path) -> Iterator[Lease]:
    """Yield the leases in *base* of sessions that are gone; each has to be ended or released."""
    with contextlib.suppress(OSError):
        for path, descriptor in lock_ownerless(base, SUFFIX):
            yield Lease(path.with_suffix(""), descriptor)
