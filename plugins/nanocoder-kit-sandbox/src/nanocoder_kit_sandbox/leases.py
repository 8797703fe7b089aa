"""Leases: a session holds a locked file as long as it lives, so that others see who was killed.

Beside it are the session's own folders, and notes on what a command that runs inside may have made.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

SUFFIX: Final = ".lease"
NOTES: Final = ".notes"
FOLDERS: Final = ("", ".git", ".rules")
FILES: Final = (".socket", ".filter")


class Lease:
    """The files of one session beside *tmp*, its own /tmp; *handle* is locked."""

    def __init__(self, tmp: Path, handle: int) -> None:
        self.tmp = tmp
        self._handle = handle
        self._noted = ""

    def renew(self) -> None:
        """Take note that the session lives now."""
        os.utime(self._handle)

    @property
    def renewed_s(self) -> float:
        """When the session certainly lived, in seconds since the epoch."""
        times = [os.fstat(self._handle).st_mtime]
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
        os.close(self._handle)

    @property
    def _notes(self) -> Path:
        return self.tmp.with_suffix(NOTES)


def take_lease(base: Path) -> Lease:
    """Make the folder of a new session in *base*; raises OSError."""
    while True:
        tmp = base / f"tmp-{token_hex(8)}"
        handle = _locked(tmp.with_suffix(SUFFIX), os.O_CREAT | os.O_EXCL)
        if handle is not None:
            tmp.mkdir(mode=0o700)
            return Lease(tmp, handle)


def leases_of_killed(base: Path) -> Iterator[Lease]:
    """Yield the leases in *base* of sessions that are gone; each has to be ended or released."""
    for path in sorted(base.glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError):
            handle = _locked(path, 0)
            if handle is not None:
                yield Lease(path.with_suffix(""), handle)


def _locked(path: Path, flags: int) -> int | None:
    """Open and lock a lease; None where another process has it, or has removed it."""
    handle = os.open(path, flags | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    if not os.fstat(handle).st_nlink:
        os.close(handle)
        return None
    return handle
