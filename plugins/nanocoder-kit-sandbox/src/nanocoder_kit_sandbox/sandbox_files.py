"""The files that a session's sandbox keeps: its own /tmp, copies, and a lock.

Each process inside holds the lock, so that others see whether something still runs there.
"""

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from nanocoder import SessionInfo, ToolError
from nanocoder_files import lock_ownerless

from nanocoder_kit_sandbox.leases import LOCK, SUFFIX, Lease, is_held, take_lease

PAUSE_S: Final = 1.0
"""The shortest pause between two checks, in seconds."""
LOOK_SHARE: Final = 20
"""The pause is at least so many times as long as a check takes."""
START_S: Final = 1.0
"""The time limit of a sandbox from the start of its process to holding the lock."""
END_S: Final = 1.0
"""The time limit of a sandbox to end after its command."""


def unavailable(name: str, why: str) -> ToolError:
    """Return the error of a sandbox that cannot be used."""
    message = f"the sandbox {name!r} cannot be used: {why}"
    return ToolError(message, error_class="sandbox_unavailable")


class SandboxFiles:
    """The files of one session's sandbox, in a folder of its own in *base*.

    *lock* is held by all that runs inside. *git* is a folder for what programs see of a repository,
    *layers* one for throw-away layers. *look* is called now and then while something runs inside,
    and when nothing does any more.
    Raises: ToolError (sandbox_unavailable) where they cannot be made.
    """

    def __init__(self, session: SessionInfo, look: Callable[[], object]) -> None:
        self._look = look
        self.base = Path(tempfile.gettempdir(), f"nanocoder-sandbox-{os.getuid()}")
        # All sessions of a workspace have names that begin so.
        self._name = hashlib.sha256(os.fsencode(session.cwd)).hexdigest()[:16]
        try:
            self.lease = take_lease(self.base, self._name)
            folder, self.lock = self.lease.folder, self.lease.lock
            self.tmp, self._masks = folder / "tmp", folder / "masks"
            for each in (self.tmp, self._masks):
                each.mkdir(mode=0o700)
        except OSError as error:
            problem = error.strerror or str(error)
            raise unavailable("sandbox", f"{self.base} cannot be used: {problem}") from error
        self.socket, self.filter = folder / "socket", folder / "filter"
        self.git, self.layers = folder / "git", folder / "layers"
        self.rules = folder / "rules"
        self._watch: threading.Thread | None = None
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._remove_killed()

    def mask(self, path: str) -> Path:
        """Return an unreadable file of the size, time and mode by which git knows that at *path*.

        With another one git would read what it has not seen, and fail.
        """
        try:
            facts = os.stat(path)
        except OSError:  # gone meanwhile
            facts = os.stat(os.devnull)
        size, written_ns, mode = facts.st_size, facts.st_mtime_ns, facts.st_mode & 0o111
        mask = self._masks / f"{size}-{written_ns}-{mode}"
        if not mask.exists():
            # Another thread may make the same one: each is complete when it gets the name.
            draft = mask.with_name(f"{mask.name}-{threading.get_ident()}")
            with open(draft, "xb", opener=partial(os.open, mode=mode)) as file:
                file.truncate(size)
            os.utime(draft, ns=(written_ns, written_ns))
            draft.replace(mask)
        return mask

    def expect_start(self) -> None:
        """Note that a process is about to start inside, and watch for its end."""
        with self._guard:
            os.utime(self.lock)
            if self._watch is None or not self._watch.is_alive():
                self._watch = threading.Thread(target=self._await_end, daemon=True)
                self._watch.start()

    @property
    def is_idle(self) -> bool:
        """True if no session has a program in the workspace, or is about to start one."""
        with suppress(OSError):
            names = [name for name in os.listdir(self.base) if name.startswith(self._name)]
            locks = [f"{self.base}/{name}/{LOCK}" for name in names if not name.endswith(SUFFIX)]
            if not os.path.exists(self.lock) or any(map(_is_busy, locks)):
                return False
            # On a busy machine a process may be long from holding the lock.
            return not _is_any_named([os.fsencode(lock) for lock in locks])
        return False

    def close(self) -> None:
        """Remove the session's files; what still runs inside gets a moment to end."""
        self._closed.set()
        with suppress(OSError):
            until = time.monotonic() + END_S
            while is_held(self.lock) and time.monotonic() < until:
                time.sleep(END_S / 50)
        self._look()
        self.lease.end()

    def _remove_killed(self) -> None:
        """Remove the files of sessions that were killed, where nothing of theirs runs any more."""
        with suppress(OSError):
            for path, descriptor in lock_ownerless(self.base, SUFFIX):
                lease = Lease(path, descriptor)
                if lease.lock.exists() and is_held(lease.lock):
                    lease.release()
                    continue
                lease.end()

    def _await_end(self) -> None:
        pause_s, is_over = PAUSE_S, False
        while not is_over and not self._closed.wait(pause_s):
            is_over = self._is_over()
            start_s = time.monotonic()
            self._look()
            pause_s = max(PAUSE_S, LOOK_SHARE * (time.monotonic() - start_s))

    def _is_over(self) -> bool:
        with self._guard:
            if not self.is_idle:
                return False
            self._watch = None
            return True


def _is_busy(lock: str) -> bool:
    """Tell whether something runs in the sandbox of *lock*, or is about to start."""
    try:
        return os.stat(lock).st_mtime + START_S > time.time() or is_held(lock)
    except FileNotFoundError:  # the session has ended
        return False


def _is_any_named(words: list[bytes]) -> bool:
    """Tell whether one of *words* is in the command line of a process."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:  # it may have ended
            line = file.read()
            if any(word in line for word in words):
                return True
    return False
