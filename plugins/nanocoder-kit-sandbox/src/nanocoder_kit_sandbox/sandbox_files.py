"""The files that a session's sandbox keeps: its own /tmp, copies, and a lock.

Each process inside holds the lock, so that others see whether something still runs there.
"""

import fcntl
import hashlib
import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import SessionInfo, ToolError
from nanocoder_files import holding

from nanocoder_kit_sandbox.leases import Lease, leases_of_killed, take_lease

POLL_S: Final = 0.2
"""How often the watch checks whether everything inside has ended."""
MEANWHILE_S: Final = 1.0
"""How often it looks at what programs that still run have made, and"""
LOOK_SHARE: Final = 20
"""by how many times the pause is at least longer than the look."""
LOCK: Final = "lock"
NOTHING: Final = "nothing"
GUARD: Final = "guard"
"""The file that is locked while a workspace's folder is made or removed."""
START_S: Final = 1.0
"""How long a sandbox may take from the start of its process until it holds the lock."""
END_S: Final = 1.0
"""How long a sandbox may take to end after the command in it."""
LOCK_FORMAT: Final = "hhqqi"  # struct flock
WHOLE: Final = (os.SEEK_SET, 0, 0, 0)


def unavailable(name: str, why: str) -> ToolError:
    """Return the error of a sandbox that cannot be used."""
    message = f"the sandbox {name!r} cannot be used: {why}"
    return ToolError(message, error_class="sandbox_unavailable")


class SandboxFiles:
    """The files of one session's sandbox, in a folder of its workspace.

    *lock* is held by all that runs inside, *nothing* is an unreadable file, *git* a folder for
    what programs see of a repository, *layers* one for throw-away layers. *at_end* is called when
    nothing runs inside any more, *meanwhile* now and then before that.
    Raises: ToolError (sandbox_unavailable) where they cannot be made.
    """

    def __init__(
        self,
        session: SessionInfo,
        at_end: Callable[[], object] = list,
        meanwhile: Callable[[], object] = list,
    ) -> None:
        self._at_end, self._meanwhile = at_end, meanwhile
        digest = hashlib.sha256(os.fsencode(session.cwd)).hexdigest()[:16]
        base = Path(tempfile.gettempdir(), f"nanocoder-sandbox-{os.getuid()}", digest)
        self.lock, self.nothing = base / LOCK, base / NOTHING
        try:
            try:
                self.lease = _make(base)
            except FileNotFoundError:  # the last session of another workspace removed what is above
                self.lease = _make(base)
        except OSError as error:
            problem = error.strerror or str(error)
            raise unavailable("sandbox", f"{base} cannot be used: {problem}") from error
        self.tmp = self.lease.tmp
        self.socket = self.tmp.with_suffix(".socket")
        self.git = self.tmp.with_suffix(".git")
        self.layers = self.tmp.with_suffix(".layers")
        self.filter = self.tmp.with_suffix(".filter")
        self._watch: threading.Thread | None = None
        self._guard = threading.Lock()
        self._closed = threading.Event()
        with suppress(OSError):
            for folder in base.parent.iterdir():
                if folder != base:
                    _clear_killed(folder)
                    _remove_unused(folder)

    def killed(self) -> Iterator[Lease]:
        """Yield the leases of this workspace's sessions that were killed, without their files.

        Each is ended with the next one, and with the last.
        """
        for lease in leases_of_killed(self.tmp.parent):
            lease.clear()
            yield lease
            lease.end()

    def expect_start(self) -> None:
        """Note that a process is about to start inside, and watch for its end."""
        with self._guard:
            os.utime(self.lock)
            if self._watch is None or not self._watch.is_alive():
                self._watch = threading.Thread(target=self._await_end, daemon=True)
                self._watch.start()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs inside, and nothing is about to start."""
        with suppress(OSError):
            if self._start_ends_s() > 0 or self._is_locked():
                return False
            # On a busy machine a process may be long from holding the lock.
            return not _is_named(os.fsencode(self.lock))
        return False

    def close(self) -> None:
        """Remove the session's files; what still runs inside gets a moment to end."""
        self._closed.set()
        with suppress(OSError):
            until = time.monotonic() + END_S
            while self._is_locked() and time.monotonic() < until:
                time.sleep(END_S / 50)
        self._at_end()
        self.lease.end()
        _remove_unused(self.lock.parent)

    def _await_end(self) -> None:
        next_s = time.monotonic() + MEANWHILE_S
        while not self._closed.wait(POLL_S):
            self.lease.renew()
            if self._is_over():
                self._at_end()
                return
            if (start_s := time.monotonic()) >= next_s:
                self._meanwhile()
                end_s = time.monotonic()
                next_s = end_s + max(MEANWHILE_S, LOOK_SHARE * (end_s - start_s))

    def _is_over(self) -> bool:
        with self._guard:
            if not self.is_idle:
                return False
            self._watch = None
            return True

    def _start_ends_s(self) -> float:
        return os.stat(self.lock).st_mtime + START_S - time.time()

    def _is_locked(self) -> bool:
        with open(self.lock, "r+b") as file:
            return _is_held(file.fileno())


def _clear_killed(base: Path) -> None:
    """Remove the folders of killed sessions of another workspace.

    What they noted stays for the next session there, if the workspace still exists.
    """
    for lease in leases_of_killed(base):
        lease.clear()
        if lease.is_needed():
            lease.release()
        else:
            lease.end()


def _make(base: Path) -> Lease:
    _make_ours(base.parent)
    with holding(base.parent / GUARD):
        _make_ours(base)
        _make_file(base / LOCK, 0o600)
        _make_file(base / NOTHING, 0o000)
        return take_lease(base)


def _remove_unused(base: Path) -> None:
    """Remove the folder of a workspace that has no session, and of none a note."""
    with suppress(OSError), holding(base.parent / GUARD):
        descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            is_unused = set(os.listdir(descriptor)) <= {LOCK, NOTHING}
            is_ours = os.fstat(descriptor).st_uid == os.getuid()
            if is_unused and is_ours and not _is_in_use(descriptor):
                for name in os.listdir(descriptor):
                    os.unlink(name, dir_fd=descriptor)
                base.rmdir()
        finally:
            os.close(descriptor)
        if os.listdir(base.parent) == [GUARD]:
            os.unlink(base.parent / GUARD)
            base.parent.rmdir()


def _is_in_use(folder: int) -> bool:
    """Tell whether something of an earlier session still runs inside."""
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return False
    try:
        return _is_held(lock)
    finally:
        os.close(lock)


def _is_held(lock: int) -> bool:
    # Asked, not taken: bubblewrap fails to start where it cannot lock the file at once.
    question = struct.pack(LOCK_FORMAT, fcntl.F_WRLCK, *WHOLE)
    answer = fcntl.fcntl(lock, fcntl.F_GETLK, question)
    return bool(struct.unpack(LOCK_FORMAT, answer)[0] != fcntl.F_UNLCK)


def _is_named(word: bytes) -> bool:
    """Tell whether *word* is in the command line of a process."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:  # it may have ended
            if word in file.read():
                return True
    return False


def _make_ours(folder: Path) -> None:
    """Make a directory that is ours alone; raises OSError where another user has it."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    facts = folder.lstat()
    if facts.st_uid != os.getuid() or folder.is_symlink() or facts.st_mode & 0o077:
        raise PermissionError(f"{folder} belongs to somebody else, or others may write to it")


def _make_file(path: Path, mode: int) -> None:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, mode))
