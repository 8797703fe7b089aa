"""Where a workspace's sandboxes keep their own files, and what they leave in the workspace.

A name that must not appear is held by an empty folder while something runs inside. Each process
inside holds a lock, so that the last one to end has these folders removed.
"""

import fcntl
import hashlib
import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import SessionInfo, ToolError
from nanocoder_files import holding

from nanocoder_kit_sandbox.leases import Lease, leases_of_killed, take_lease
from nanocoder_kit_sandbox.survey import Surveyed

LOOK_S: Final = 0.2
"""How often is looked whether everything inside has ended."""
MEANWHILE_S: Final = 1.0
"""How often is looked at what the programs that still run have made, and"""
LOOK_SHARE: Final = 20
"""by how many times the pause is at least longer than the look."""
LOCK: Final = "lock"
NOTHING: Final = "nothing"
GUARD: Final = "guard"
"""The file that is locked while a workspace's folder is made or removed."""
START_S: Final = 1.0
"""How long a sandbox may take from its first folder until it holds the lock."""
CLOSE_S: Final = 0.2
"""How much of that is waited for at a session's end."""
LOCK_FORMAT: Final = "hhqqi"  # struct flock
WHOLE: Final = (os.SEEK_SET, 0, 0, 0)
END_S: Final = 1.0
"""How long a sandbox may take to end after the command in it."""


def unavailable(name: str, why: str) -> ToolError:
    """Return the error of a sandbox that cannot be used."""
    message = f"the sandbox {name!r}, which is configured, cannot be used: {why}"
    return ToolError(message, error_class="sandbox_unavailable")


class Place:
    """The files of the sandboxes of one workspace; *tmp* is /tmp of one session.

    *lock* is held by all that runs inside, *nothing* is an unreadable file, *git* a folder
    for what is seen of a repository. *at_end* is called when nothing runs inside any more,
    *meanwhile* now and then before that.
    Raises: ToolError (sandbox_unavailable) where there is no place for them.
    """

    def __init__(
        self,
        session: SessionInfo,
        at_end: Callable[[], object] = list,
        meanwhile: Callable[[], object] = list,
    ) -> None:
        self._root = str(session.cwd)
        self._at_end, self._meanwhile = at_end, meanwhile
        digest = hashlib.sha256(os.fsencode(self._root)).hexdigest()[:16]
        base = Path(tempfile.gettempdir(), f"nanocoder-sandbox-{os.getuid()}", digest)
        try:
            _make_ours(base.parent)
            with holding(base.parent / GUARD):
                _make_ours(base)
                self.lock = _make_file(base / LOCK, 0o600)
                self.nothing = _make_file(base / NOTHING, 0o000)
                self.lease = take_lease(base)
        except OSError as error:
            problem = error.strerror or str(error)
            raise unavailable("sandbox", f"{base} cannot be used: {problem}") from error
        self.tmp = self.lease.tmp
        self.socket = self.tmp.with_suffix(".socket")
        self.git = self.tmp.with_suffix(".git")
        self._names = base / "held"
        self._watch: threading.Thread | None = None
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._is_used = False
        with suppress(OSError):  # of sessions that were killed
            self._clean()
            for folder in base.parent.iterdir():
                if folder != base:
                    _clear_killed(folder)
                    _remove_unused(folder)

    def killed(self) -> Iterator[Lease]:
        """Yield the leases of sessions of this workspace that were killed, without their files.

        Each is ended with the next one, and with the last.
        """
        for lease in leases_of_killed(self.tmp.parent):
            lease.clear()
            yield lease
            lease.end()

    def hold(self, missing: Iterable[str]) -> None:
        """Take note that a sandbox is about to start that puts empty folders at *missing*."""
        names = set(missing)
        with self._guard:
            self._is_used = True
            os.utime(self.lock)
            if names and not names <= (noted := self._noted_names()):
                self._names.write_text("\n".join(sorted(noted | names)), encoding="utf-8")
            if self._watch is None or not self._watch.is_alive():
                self._watch = threading.Thread(target=self._await_end, daemon=True)
                self._watch.start()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs inside, and nothing is about to start."""
        with self._guard, suppress(OSError):
            return self._start_ends_s() <= 0 and self._clean()
        return False

    def without_held(self, names: Surveyed) -> Surveyed:
        """Return *names* with those as missing that only an earlier command's folders hold."""
        with self._guard:
            noted = self._noted_names() if names.protected else set()
            own = [name for name in names.protected if self._is_held(name, noted)]
        protected = tuple(name for name in names.protected if name not in own)
        return names._replace(protected=protected, missing=(*names.missing, *own))

    def _is_held(self, name: str, noted: set[str]) -> bool:
        path = f"{self._root}/{name}"
        if not os.path.lexists(path):  # removed since it was looked for
            return "/" not in name
        return name in noted and os.path.isdir(path) and not os.listdir(path)

    def close(self) -> None:
        """Remove what is left in the workspace, if nothing runs inside, and the session's /tmp."""
        self._closed.set()
        with suppress(OSError):
            if self._is_used:
                time.sleep(max(0.0, min(CLOSE_S, self._start_ends_s())))
            until = time.monotonic() + END_S
            while not self._clean() and time.monotonic() < until:
                time.sleep(END_S / 50)
        self._at_end()
        self.lease.end()
        _remove_unused(self.lock.parent)

    def _await_end(self) -> None:
        next_s = time.monotonic() + MEANWHILE_S
        while not self._closed.wait(LOOK_S):
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
            if self._start_ends_s() > 0 or not self._clean():
                return False
            self._watch = None
            return True

    def _start_ends_s(self) -> float:
        return os.stat(self.lock).st_mtime + START_S - time.time()

    def _clean(self) -> bool:
        """Remove the folders if nothing runs or starts inside; tell whether nothing does."""
        begun_ns = os.stat(self.lock).st_mtime_ns
        with open(self.lock, "r+b") as file:
            if _is_held(file.fileno()):
                return False
        names = self._noted_names()
        # On a busy machine a sandbox that has made its folders may be long from holding the lock.
        if names and _is_named(os.fsencode(self.lock)):
            return False
        # That took so long that another one may be about to start by now.
        if os.stat(self.lock).st_mtime_ns != begun_ns:
            return False
        self._remove_held(names)
        return True

    def _noted_names(self) -> set[str]:
        try:
            return set(self._names.read_text(encoding="utf-8").split("\n")) - {""}
        except OSError:
            return set()

    def _remove_held(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):  # gone, or no longer empty
                Path(self._root, name).rmdir()
        with suppress(OSError):
            self._names.unlink()


def _clear_killed(base: Path) -> None:
    """Remove the folders of killed sessions of another workspace, but for what they noted."""
    for lease in leases_of_killed(base):
        lease.clear()
        if lease.noted() is None:
            lease.end()
        else:
            lease.release()


def _remove_unused(base: Path) -> None:
    """Remove the folder of a workspace that has no session, and of none a note."""
    with suppress(OSError), holding(base.parent / GUARD):
        handle = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            is_unused = set(os.listdir(handle)) <= {LOCK, NOTHING}
            if is_unused and os.fstat(handle).st_uid == os.getuid() and not _is_in_use(handle):
                for name in os.listdir(handle):
                    os.unlink(name, dir_fd=handle)
                base.rmdir()
        finally:
            os.close(handle)


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
    """Tell whether *word* is in the command line of a process, as in that of each sandbox."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if word in file.read():
                    return True
        except OSError:  # it has ended
            continue
    return False


def _make_ours(folder: Path) -> None:
    """Make a directory that is ours alone; raises OSError where another user has it."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    facts = folder.lstat()
    if facts.st_uid != os.getuid() or folder.is_symlink() or facts.st_mode & 0o077:
        raise PermissionError(f"{folder} belongs to somebody else, or others may write to it")


def _make_file(path: Path, mode: int) -> Path:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, mode))
    return path
