"""The process that keeps a sandbox of bubblewrap ready for a session's next command.

It forks a process for each sandbox, the attendant, which starts bubblewrap with a program that
waits inside (`standby_inner`). A command line of the session is a shell, the client: it asks the
attendant for the command that its own words name. The attendant looks whether the sandbox shows
what it would show if it were made now, gives the command and what the client has open to the
program inside, and answers with the code with which that ended. A sandbox runs one command.

Everything here ends with nanocoder: this process when standard input ends, attendants with this
process, and each bubblewrap with its attendant.
"""

from __future__ import annotations

import _socket
import fcntl
import gc
import marshal
import os
import resource
import select
import struct
import sys

from nanocoder_kit_sandbox import kernel, starter
from nanocoder_kit_sandbox.standby_client import LIMITS, Client, Request
from nanocoder_kit_sandbox.standby_names import NameHolder
from nanocoder_kit_sandbox.standby_view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any, Final, NoReturn
else:
    import _signal as signal

MADE, READY, FAILED, TAKEN, UNWANTED = "made", "ready", "failed", "taken", "unwanted"
"""The ends of the name of the file that describes a sandbox, and says how far it is."""
ASK, ANSWER, CLAIM = "ask", "answer", "claim"
END: Final = "end"
"""The request to end a sandbox that no command will get."""
BEGUN: Final = "begun"
"""The first line of an answer: from then on the command must not be run a second time."""
REFUSAL: Final = "no"
"""The answer upon which a client starts the command without this process."""
_INFO_BYTES: Final = 1 << 12
_LINE_BYTES: Final = 64
_PAUSE_MS: Final = 20
_UNUSED_MS: Final = 60_000
"""How long a command may take to start for which a sandbox was taken."""
_PROBLEM: Final = 1
_SIZE: Final = struct.Struct("=Q")
_STREAMS: Final = struct.Struct("=3i")
_LOCK: Final = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
_BY_SIGNAL: Final = 128


def main() -> NoReturn:
    """Make a sandbox for each line of standard input, a number, in the folder that is named."""
    folder, inner = sys.argv[1:]
    gc.disable()  # it would touch, and so copy, all memory of each fork
    gc.freeze()
    parent, waiting = os.getpid(), b""
    while piece := os.read(0, _LINE_BYTES):
        *numbers, waiting = (waiting + piece).split(b"\n")
        if _has_ended(_PAUSE_MS):
            break
        for number in numbers:
            if not kernel.fork():
                _attend(folder, number.decode(), inner, parent)
        _reap()
    os._exit(0)


def _has_ended(pause_ms: int) -> bool:
    """Wait, and tell whether nanocoder has ended: after its only command nothing need be made."""
    poll = select.poll()
    poll.register(0, 0)
    return bool(poll.poll(pause_ms))


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _attend(folder: str, number: str, inner: str, parent: int) -> NoReturn:
    """Make one sandbox, and have one command run in it."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    requests = Requests(folder, number)
    try:
        sandbox = Sandbox(requests.described(), inner)
        # Not before: if bubblewrap is killed while it starts, its child waits for it forever.
        kernel.end_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(_PROBLEM)
        limits = [resource.getrlimit(kind) for kind in range(LIMITS)]
        requests.open()
    except OSError:
        requests.fail()
    client = requests.next(sandbox.handle)
    if client is None:
        os._exit(0)
    try:
        request = client.request(limits)
        sandbox.run(request, lambda: requests.answer(BEGUN))
    except (OSError, ValueError):
        requests.answer(REFUSAL)
        os._exit(0)
    requests.answer(str(sandbox.await_end(request.watched)))
    os._exit(0)


def _first_process(info: int) -> int:
    """Return the number of the first process inside, of which bubblewrap writes in JSON."""
    text = b""
    while b"}" not in text and (piece := os.read(info, _INFO_BYTES)):
        text += piece
    number = text.partition(b'"child-pid":')[2].strip(b" ,}\n").partition(b",")[0]
    if not number.isdigit():
        raise OSError("bubblewrap has not started")
    return int(number)


class Requests:
    """What nanocoder and a client say about one sandbox, by files of its *number* in *folder*."""

    def __init__(self, folder: str, number: str) -> None:
        self._folder, self._number = folder, number
        self._ask = self._answer = -1

    def described(self) -> dict[str, Any]:
        """Return what the sandbox is to be; raises OSError where nobody wants it any more."""
        described: dict[str, Any] = marshal.loads(starter.read(self._path(MADE)))  # noqa: S302 - nanocoder wrote it
        return described

    def open(self) -> None:
        """Say that the sandbox is ready; raises OSError where nobody wants it any more."""
        for name in (ASK, ANSWER):
            os.mkfifo(self._path(name), 0o600)
        flags = os.O_RDWR | os.O_CLOEXEC
        self._ask, self._answer = (os.open(self._path(name), flags) for name in (ASK, ANSWER))
        os.rename(self._path(MADE), self._path(READY))

    def fail(self) -> NoReturn:
        """Say that the sandbox cannot be made, and end."""
        try:
            os.rename(self._path(MADE), self._path(FAILED))
        except OSError:  # nobody wants it any more
            self._remove()
        os._exit(_PROBLEM)

    def next(self, sandbox: int) -> Client | None:
        """Wait for the client; None where there is none, or the *sandbox*, a handle, has ended."""
        poll = select.poll()
        poll.register(self._ask, select.POLLIN)
        poll.register(sandbox, select.POLLIN)
        ready = dict(poll.poll(_UNUSED_MS))
        while not ready and not os.path.exists(self._path(TAKEN)):
            ready = dict(poll.poll(_UNUSED_MS))
        text = os.read(self._ask, _LINE_BYTES).decode() if self._ask in ready else END
        # A client that comes later, or the same words run again, find nothing to ask.
        self._remove()
        try:
            client = Client(int(text), self._folder, self._number)
            client.meet()
        except (OSError, ValueError):  # it has ended, or nobody needs the sandbox
            return None
        return None if sandbox in ready else client

    def answer(self, line: str) -> None:
        """Write a line of the answer."""
        os.write(self._answer, f"{line}\n".encode())

    def _remove(self) -> None:
        for name in (ASK, ANSWER, CLAIM, READY, TAKEN, UNWANTED):
            try:
                os.unlink(self._path(name))
            except OSError:
                continue

    def _path(self, name: str) -> str:
        return f"{self._folder}/{self._number}.{name}"


class Sandbox:
    """A sandbox that is ready for one command. Raises: OSError."""

    def __init__(self, described: dict[str, Any], inner: str) -> None:
        self._described = described
        self._lock = os.open(described["lock"], os.O_RDONLY | os.O_CLOEXEC)
        self._socket, theirs = _socket.socketpair()
        info, tells = os.pipe()
        self._process = self._start(theirs.fileno(), tells, inner)
        theirs.close()
        os.close(tells)
        self.handle = os.pidfd_open(self._process)
        first = _first_process(info)
        self._await_inner(os.pidfd_open(first))
        self._view = View(first, described["options"])
        others = (self._socket.fileno(), self._lock, self.handle, info)
        self._holder = NameHolder(first, described["root"], described["most_names"], others)
        os.close(info)

    def _start(self, socket: int, info: int, inner: str) -> int:
        """Start bubblewrap, and in it the program that waits."""
        described, handles = self._described, [socket, info, self._lock]
        argv = [*described["base"], "--sync-fd", str(self._lock), "--info-fd", str(info)]
        if described["filter"]:
            handles.append(os.open(described["filter"], os.O_RDONLY | os.O_CLOEXEC))
            argv += ["--seccomp", str(handles[-1])]
        argv += described["options"]
        argv += ["--", described["python"], "-I", "-S", "-c", inner, str(socket)]
        for handle in handles:
            os.set_inheritable(handle, True)
        process = os.posix_spawn(argv[0], argv, {})
        for handle in handles:
            os.set_inheritable(handle, False)
        return process

    def _await_inner(self, first: int) -> None:
        """Wait for the program inside; *first* is a handle of the first process there."""
        poll = select.poll()
        for handle in (self._socket.fileno(), self.handle):
            poll.register(handle, select.POLLIN)
        if self.handle in dict(poll.poll()) or not self._socket.recv(1):
            # It may wait for bubblewrap, which has ended.
            signal.pidfd_send_signal(first, signal.SIGKILL)
            raise OSError("bubblewrap has ended")
        os.close(first)

    def run(self, request: Request, begin: Callable[[], None]) -> None:
        """Have a command run; raises OSError before that, and where it must not run here."""
        described = self._described
        names = request.names
        # Bubblewrap has the lock open, too, so it holds until the last process inside has ended.
        fcntl.fcntl(self._lock, fcntl.F_OFD_SETLK, _LOCK)
        self._holder.begin(names)
        has_same_files = self._view.has_same_files()
        self._holder.finish()
        points = [f"{described['root']}/{name}" for name in names]
        if not has_same_files or not self._view.has_only(points):
            raise OSError("the sandbox shows what was there before")
        text = marshal.dumps(request.words(described))
        begin()
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _STREAMS.pack(*request.streams))
        self._socket.sendmsg([_SIZE.pack(len(text))], [rights])
        self._socket.sendall(text)
        self._socket.close()

    def await_end(self, watched: tuple[int, ...]) -> int:
        """Return the code with which the command ends; end it when one of *watched* does."""
        poll = select.poll()
        for handle in (self.handle, *watched):
            poll.register(handle, select.POLLIN)
        if self.handle not in dict(poll.poll()):
            os.kill(self._process, signal.SIGKILL)
        status = os.waitpid(self._process, 0)[1]
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else _BY_SIGNAL + os.WTERMSIG(status)


if __name__ == "__main__":
    main()
