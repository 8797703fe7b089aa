"""Processes that run in the background of a session, and end with it or with nanocoder."""

import codecs
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from nanocoder import ToolError

from nanocoder_kit_process.process_tag import VARIABLE, new_tag
from nanocoder_kit_process.process_tree import ProcessTree, guard

KEPT_BYTES: Final = 256_000
"""Size of the stored tail of the output."""
STOP_S: Final = 7.0  # time for the supervisor: three seconds politely, two by force
LEFT_S: Final = 3.0  # time to end the processes that a killed supervisor has left
PIECE_BYTES: Final = 65_536
MOST_PIECES: Final = 16
SUPERVISOR: Final = Path(__file__).with_name("supervisor.py")


class News(NamedTuple):
    """Output since the last read; *lost* more bytes were dropped because they came too fast."""

    text: str
    lost: int


class BackgroundProcess:
    """One process behind its supervisor; methods may be called from any thread.

    Raises OSError or ValueError when it cannot be started.
    """

    def __init__(
        self, identity: str, command: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> None:
        self.id = identity
        self.command = command
        self._log = bytearray()
        self._size = 0
        self._read_until = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._changed = threading.Condition()
        self._started = time.monotonic()
        self._ended = 0.0
        guard()
        tag = new_tag()
        # With -I and -S no file of the workspace and no installed package affects the supervisor.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), *argv],
            cwd=cwd,
            env={**env, VARIABLE: tag.text},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        # The supervisor only passes the tag on: it may exit before the server's process tree.
        self._tree = ProcessTree(tag, self._process.pid, is_led=False)
        self._reader = threading.Thread(target=self._read, daemon=True, name="nanocoder-background")
        self._reader.start()

    @property
    def pid(self) -> int:
        """The supervisor's process."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The process's exit code; None while it runs."""
        code = self._process.poll()
        if code is not None and not self._ended:
            self._ended = time.monotonic()
        return code

    @property
    def uptime_s(self) -> float:
        """For how many seconds it has run, or ran."""
        self.exit_code  # noqa: B018 - takes note of an end
        return (self._ended or time.monotonic()) - self._started

    @property
    def has_news(self) -> bool:
        """Return True if there is output that `news` has not returned."""
        with self._changed:
            return self._size > self._read_until

    def log(self, lines: int) -> str:
        """Return the last *lines* lines of its output."""
        with self._changed:
            text = self._log.decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-lines:])

    def news(self) -> News:
        """Return the output since the last call, with the number of lost bytes."""
        with self._changed:
            unread = self._size - self._read_until
            data = bytes(self._log[-unread:]) if unread else b""
            self._read_until = self._size
            # A partial character is buffered until its rest arrives, unless the output has ended.
            text = self._decoder.decode(data, final=self.exit_code is not None)
        return News(text, unread - len(data))

    def wait(self, seconds: float) -> None:
        """Return after *seconds*, or sooner when it prints something or ends."""
        with self._changed:
            if self._size == self._read_until and self._reader.is_alive():
                self._changed.wait(seconds)

    def stop(self) -> bool:
        """End it and everything that it started; tell whether it was running."""
        was_running = self.exit_code is None
        self.release()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S)
        self._reader.join(LEFT_S)
        if not self._reader.is_alive() and self._process.stdout is not None:
            self._process.stdout.close()
        return was_running

    def release(self) -> None:
        """Tell the supervisor to stop, without waiting for it."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _read(self) -> None:
        pipe = self._process.stdout
        if pipe is None:
            return
        self._read_until_its_end(pipe.fileno())
        self._process.wait()  # the end of the output comes a moment before the exit code
        # If a descendant killed the supervisor, it may have left the group before.
        self._tree.end()
        os.set_blocking(pipe.fileno(), False)
        with suppress(BlockingIOError):  # an escaped process holds the pipe open
            for _ in range(MOST_PIECES):  # … and goes on writing
                self._add(os.read(pipe.fileno(), PIECE_BYTES))
        with self._changed:
            self._changed.notify_all()

    def _read_until_its_end(self, pipe: int) -> None:
        """Read until the output or the supervisor ends; other processes may hold the pipe open."""
        with _pidfd_of(self._process.pid) as pidfd:
            poll = select.poll()
            for each in (pipe, pidfd):
                if each >= 0:
                    poll.register(each, select.POLLIN)
            while pidfd not in {ready for ready, _ in poll.poll()}:
                piece = os.read(pipe, PIECE_BYTES)
                if not piece:
                    return
                self._add(piece)

    def _add(self, piece: bytes) -> None:
        with self._changed:
            self._log += piece
            self._size += len(piece)
            del self._log[:-KEPT_BYTES]
            self._changed.notify_all()


@contextmanager
def _pidfd_of(pid: int) -> Iterator[int]:
    """Provide a descriptor that becomes readable when *pid* ends, or -1."""
    try:
        pidfd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        pidfd = -1
    try:
        yield pidfd
    finally:
        if pidfd >= 0:
            os.close(pidfd)


K = TypeVar("K", bound=BackgroundProcess)


class Background(Generic[K]):
    """All background processes of one kind in a session, at most *most* at once."""

    def __init__(self, kind: str, most: int) -> None:
        self._kind = kind
        self._most = most
        self._processes: dict[str, K] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._closed = False

    def start(self, make: Callable[[str], K]) -> K:
        """Start one with the next id, as in "server-1".

        Raises: ToolError (too_many_servers, spawn_failed).
        """
        with self._lock:
            running = [process for process in self._processes.values() if process.exit_code is None]
            if self._closed or len(running) >= self._most:
                raise ToolError(
                    f"{len(running)} {self._kind}s are running, which is the limit; stop one",
                    error_class=f"too_many_{self._kind}s",
                )
            self._count += 1
            try:
                started = make(f"{self._kind}-{self._count}")
            except (OSError, ValueError) as error:
                raise ToolError(
                    f"the {self._kind} could not be started: {error}", error_class="spawn_failed"
                ) from error
            self._processes[started.id] = started
            return started

    def get(self, identity: str) -> K:
        """Return one by its id; raises ToolError (unknown_server, where the kind is server)."""
        with self._lock:
            process = self._processes.get(identity)
            have = ", ".join(self._processes) or "none"
        if process is None:
            raise ToolError(
                f"there is no {self._kind} {identity!r}; there are: {have}",
                error_class=f"unknown_{self._kind}",
            )
        return process

    def all(self) -> list[K]:
        """Return all, the ended ones too, in the order in which they were started."""
        with self._lock:
            return list(self._processes.values())

    def forget(self, process: K) -> None:
        """Remove a process that has been stopped from the list."""
        with self._lock:
            self._processes.pop(process.id, None)

    def close(self) -> None:
        """Stop all of them, at once."""
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
            self._processes.clear()
        for process in processes:
            process.release()
        for process in processes:
            process.stop()
