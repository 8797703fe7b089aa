"""The process that stays during a session and starts its commands inside Landlock.

An interpreter takes longer to start than a command. So one runs all the time, and forks ahead a
process that is ready for the next command. A command line of the session is a shell, the client:
it asks here, and waits for the code with which the command ended. The process that is ready takes
over what the client has open, its folder, environment, mask and limits, does what `launch` does,
and ends the command when the client ends, or the program that started the client.
"""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import resource
import select
import stat
import sys

from nanocoder_kit_sandbox import kernel, launch
from nanocoder_kit_sandbox.ahead import Ahead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

ASK: Final = "ask"
EXPECTED: Final = "expected"
"""The file with those of the rules of the next command that are put into force ahead."""
CLAIM: Final = ".claim"
"""The end of the name of a file by which a client says that it is the only one with its request."""
REQUEST_BYTES: Final = 64
"""Less than what a pipe takes at once, so that no two requests are mixed."""
REFUSAL: Final = "no"
"""The answer upon which a client starts the command without this process."""
_STREAMS: Final = 3
"""The client has its streams a second time, by the numbers after those of the streams."""
_LIMITS: Final = 16
_ENDED: Final = 3
"""The code of a process that ends because nanocoder has ended."""
_VARIABLES: Final = 100
"""So many variables an environment has, about."""
_LOOK_S: Final = 0.000_2
_BLOCK_BYTES: Final = 1 << 16


def main() -> NoReturn:
    """Serve the folder that is named until standard input ends."""
    folder = sys.argv[1]
    gc.disable()  # it would touch, and so copy, all memory of each fork
    gc.freeze()
    ask = os.open(f"{folder}/{ASK}", os.O_RDWR | os.O_CLOEXEC)
    os.write(1, b"x")
    while _have_one_ready(folder, ask):
        pass
    os._exit(0)


def _have_one_ready(folder: str, ask: int) -> bool:
    """Fork a process for the next command; tell, once it has one, that another is needed."""
    ready = kernel.fork()
    if not ready:
        _serve(folder, ask)
    # One that was killed may have had a request, which is answered once no process is left here.
    return os.waitpid(ready, 0)[1] == 0


def _serve(folder: str, ask: int) -> NoReturn:
    """Have one command run, and end with nanocoder.

    This process ends as soon as another runs the command. So nanocoder becomes the parent of that,
    which looks after all that comes from a command below itself.
    """
    kernel.gain_no_rights()
    alive = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 0)
    ahead = _make_ahead(folder, (ask, alive))
    limits = [resource.getrlimit(kind) for kind in range(_LIMITS)]
    poll = select.poll()
    poll.register(ask, select.POLLIN)
    poll.register(0, 0)
    if 0 in dict(poll.poll()):
        os._exit(_ENDED)
    number, name, rules = os.read(ask, REQUEST_BYTES).decode().split()
    os.close(ask)
    try:
        client = Client(int(number), folder, name)
    except OSError:  # it has ended
        os._exit(0)
    try:
        argv = client.take_over(limits)
        described: dict[str, Any] = marshal.loads(read(f"{folder}/{rules}"))  # noqa: S302 - nanocoder wrote it
    except (OSError, ValueError):
        client.answer(REFUSAL)
    answer = client.open_answer()
    if ahead is None or client.has_own_limits or not ahead.fits(described):
        ahead = None
    if ahead is None or not ahead.run(described, argv, client.environment, client.watched, answer):
        if kernel.fork():
            os._exit(0)
        os.close(alive)
        client.answer(str(launch.start(described, argv, client.environment, client.watched)))
    os._exit(0)


def _make_ahead(folder: str, others: tuple[int, ...]) -> Ahead | None:
    """Fork the processes of the next command for the rules that it will probably have."""
    try:
        expected = marshal.loads(read(f"{folder}/{EXPECTED}"))  # noqa: S302 - nanocoder wrote it
        ahead = Ahead(expected, others)
    except OSError:
        return None
    _rehearse(expected)
    return ahead


def _rehearse(expected: dict[str, Any]) -> None:
    """Do what only reads: after a fork, a page of memory is copied when it is first touched."""
    process = os.getpid()
    status = [read(f"/proc/{process}/{name}") for name in ("cmdline", "environ", "status")][-1]
    _environment(b"".join(b"%d=%d\0" % (number, number) for number in range(_VARIABLES)))
    int(_fact(status, b"Umask"), 8)
    for kind in range(_LIMITS):
        resource.prlimit(process, kind)
    marshal.loads(marshal.dumps(expected))  # noqa: S302
    for handle in (os.pidfd_open(process), launch.outer_ruleset(expected)):
        os.close(handle)


class Client:
    """The shell with the number *process*, which waits for the answer to its request *name*.

    Raises: OSError where it has ended.
    """

    def __init__(self, process: int, folder: str, name: str) -> None:
        self._process = process
        self._handle = os.pidfd_open(process)
        self._words = self._file("cmdline").split(b"\0")[:-1]
        if [*map(os.fsencode, (folder, name))] != self._words[3:5]:
            raise ProcessLookupError  # another process, by now
        self._answer, self._opened = f"{folder}/{name}", -1
        self.has_own_limits = False

    def take_over(self, limits: list[tuple[int, int]]) -> list[str]:
        """Be where the client is, with what it has, and return the words of its command.

        *limits* are those of this process. Raises: OSError or ValueError where something cannot be
        taken over.
        """
        streams = [self._descriptor(_STREAMS + number) for number in range(_STREAMS)]
        status = self._file("status")
        for kind, own in enumerate(limits):
            its = resource.prlimit(self._process, kind)
            if its != own:
                resource.setrlimit(kind, its)
                self.has_own_limits = True
        self.environment = _environment(self._file("environ"))
        os.chdir(f"/proc/{self._process}/cwd")
        os.umask(int(_fact(status, b"Umask"), 8))
        self.watched = (self._handle, os.pidfd_open(int(_fact(status, b"PPid"))))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return [*map(os.fsdecode, self._words[self._words.index(b"--") + 1 :])]

    def open_answer(self) -> int:
        """Open the way to answer, which the rules of a command would forbid; raises OSError."""
        while True:
            try:
                self._opened = os.open(self._answer, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:  # it does not read yet
                if select.select([self._handle], [], [], _LOOK_S)[0]:
                    raise
            else:
                break
        for path in (self._answer, f"{self._answer}{CLAIM}"):
            os.unlink(path)
        return self._opened

    def answer(self, code: str) -> NoReturn:
        """Answer, and end: the client also waits for that."""
        try:
            if self._opened < 0:
                self.open_answer()
            os.write(self._opened, f"{code}\n".encode())
        finally:
            os._exit(0)

    def _file(self, name: str) -> bytes:
        return read(f"/proc/{self._process}/{name}")

    def _descriptor(self, number: int) -> int:
        """Return what the client has open as *number*; raises OSError.

        Where only the ancestors of a process get that, a pipe or a device is opened once more.
        """
        try:
            return kernel.handle_of(self._handle, number)
        except PermissionError:
            path = f"/proc/{self._process}/fd/{number}"
            mode = os.stat(path).st_mode
            if not stat.S_ISFIFO(mode) and not stat.S_ISCHR(mode):
                raise
        flags = int(self._file(f"fdinfo/{number}").split(b"flags:\t")[1].split()[0], 8)
        opened = os.open(path, (flags & os.O_ACCMODE) | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        fcntl.fcntl(opened, fcntl.F_SETFL, flags & ~os.O_ACCMODE)
        return opened


def read(path: str) -> bytes:
    """Return what is in a file; raises OSError."""
    # What `open` returns takes four times as long, for this process has to copy what it touches.
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while piece := os.read(file, _BLOCK_BYTES):
            text += piece
        return text
    finally:
        os.close(file)


def _environment(text: bytes) -> dict[str, str]:
    entries = os.fsdecode(text).split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry.find("=") > 0)


def _fact(status: bytes, name: bytes) -> bytes:
    """Return a value from what the system says about a process; raises ValueError."""
    _, sign, after = status.partition(b"\n%b:\t" % name)
    if not sign:
        raise ValueError(name)
    return after.partition(b"\n")[0]


if __name__ == "__main__":
    main()
