"""The process that stays during a session and starts its commands inside Landlock.

An interpreter takes longer to start than a command. So one runs all the time, and has processes
forked ahead that are ready for the next command. A command line of the session is a shell, the
client: it asks here, and waits for the code with which the command ended. This process hands over
the client's streams, folder, environment, mask and limits to those that are ready. They do what
`launch` does, and end the command when the client ends, or the program that started it.

Before that, nanocoder says which rules are next, so that they are ready when the client is.
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
import time

from nanocoder_kit_sandbox import kernel, launch
from nanocoder_kit_sandbox.ahead import Ahead, Forker, Limits, close_others, set_limits
from nanocoder_kit_sandbox.rulesets import inner_rulesets, outer_rulesets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

ASK: Final = "ask"
CLAIM: Final = ".claim"
"""The end of the name of a file by which a client says that it is the only one with its request."""
REQUEST_BYTES: Final = 64
"""Less than what a pipe takes at once, so that no two requests are mixed."""
NEXT: Final = "next"
"""The first word of what nanocoder says: the rules of the next command."""
FRESH_S: Final = 0.1
"""How long rules that were said to be next are taken for looked up just now."""
REFUSAL: Final = "no"
"""The answer upon which a client starts the command without this process."""
ACCEPTED: Final = b"y\n"
"""What a client reads first otherwise; the code follows with which the command ended."""
_STREAMS: Final = 3
"""The client has its streams a second time, by the numbers after those of the streams."""
_LIMITS: Final = 16
_LATER_MS: Final = 1
"""How long a command that starts has the processor before the next one is prepared."""
_BLOCK_BYTES: Final = 1 << 13
"""So few that the memory for it is not given back to the system each time."""
_PLACE: Final = os.O_PATH | os.O_CLOEXEC


def main() -> NoReturn:
    """Serve the folder that is named until standard input ends."""
    gc.disable()  # it would touch, and so copy, all memory of each fork
    gc.freeze()
    kernel.gain_no_rights()
    server = Server(sys.argv[1])
    os.write(1, b"x")
    server.run()
    os._exit(0)


class Server:
    """Has the commands run that clients ask for, one after the other, in *folder*."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._ask = os.open(f"{folder}/{ASK}", os.O_RDWR | os.O_CLOEXEC)
        self._limits, self._user = read("/proc/self/limits"), _user(read("/proc/self/status"))
        self._forker = Forker()
        self._outer, self._inner = outer_rulesets(), inner_rulesets()
        self._ahead: Ahead | None = None
        self._ahead_for: tuple[bytes, int, int] = b"", -1, 0
        self._is_due = False
        self._read: tuple[str, bytes, dict[str, Any]] = ("", b"", {})
        self._fresh: tuple[str, float] = ("", 0)
        self._ruleset = -1

    def run(self) -> None:
        """Serve until standard input ends."""
        poll = select.poll()
        poll.register(self._ask, select.POLLIN)
        poll.register(0, 0)
        while 0 not in (ready := dict(poll.poll(_LATER_MS if self._is_due else None))):
            if not ready:
                self._fork_ahead()
                continue
            words = os.read(self._ask, REQUEST_BYTES).decode().split()
            if words[0] == NEXT:
                self._prepare(words[1])
            else:
                self._serve(Client(int(words[0]), self._folder, words[1]), words[2])
        self._end_ahead()
        self._forker.end()

    def _prepare(self, name: str) -> None:
        """Have all ready for a command by the rules *name*."""
        try:
            self._be_ready(self._rules(name))
        except (OSError, ValueError):  # so it is tried once more when a client asks
            return
        self._fresh = (name, time.monotonic() + FRESH_S)

    def _serve(self, client: Client, name: str) -> None:
        """Have the command of *client* run by the rules *name*."""
        (fresh, until_s), self._fresh = self._fresh, ("", 0)
        try:
            client.meet()
        except OSError:  # it has ended
            client.close()
            return
        try:
            rules = self._rules(name)
            client.take_over(self._limits, self._user)
            if fresh != name or time.monotonic() > until_s:
                self._be_ready(rules)
            client.open_answer()
        except (OSError, ValueError):
            client.refuse()
        else:
            self._start(client, rules)
        client.close()

    def _rules(self, name: str) -> dict[str, Any]:
        """Return rules by their name, that of their content; raises OSError or ValueError."""
        if name != self._read[0]:
            text = read(f"{self._folder}/{name}")
            self._read = name, text, marshal.loads(text)  # noqa: S302 - nanocoder wrote it
        return self._read[2]

    def _be_ready(self, rules: dict[str, Any]) -> None:
        """Have processes and a ruleset for *rules* as its paths are now; raises OSError."""
        outer, self._ruleset = self._outer.of(rules), self._inner.of(rules)
        if self._ahead_for != (rules["filter"], outer, self._outer.made):
            self._end_ahead()
            self._ahead_for = rules["filter"], outer, self._outer.made
        if self._ahead is None:
            self._fork_ahead()

    def _fork_ahead(self) -> None:
        """Have processes forked for rules such as those of the latest command."""
        self._is_due = False
        try:
            self._ahead = Ahead(self._forker, *self._ahead_for[:2])
        except OSError:  # each command is forked anew
            return

    def _start(self, client: Client, rules: dict[str, Any]) -> None:
        has_started = False
        if self._ahead is not None and not client.raises_limits:
            words, text = client.command(self._ruleset), self._read[1]
            has_started = self._ahead.run((rules, text), client.limits, words, client.ends)
            self._ahead.close()
            self._ahead = None
            self._is_due = True
        if not has_started:
            self._fork_anew(client, rules)

    def _fork_anew(self, client: Client, rules: dict[str, Any]) -> None:
        """Run the command in a process that becomes a child of nanocoder."""
        process = kernel.fork()
        if process:
            os.waitpid(process, 0)
            return
        try:
            if not kernel.fork():
                client.start(rules)
        finally:
            os._exit(0)

    def _end_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.end()
            self._ahead = None


class Client:
    """The shell with the number *process*, which waits for the answer to its request *name*."""

    def __init__(self, process: int, folder: str, name: str) -> None:
        self._process, self._folder, self._name = process, folder, name
        self._handles: list[int] = []
        self._answer = -1
        self.raises_limits = False
        self.limits: Limits = {}

    def meet(self) -> None:
        """Open the client; raises OSError where it has ended."""
        self._handle = self._keep(os.pidfd_open(self._process))
        self._command_line = self._file("cmdline").split(b"\0")[:-1]
        if [*map(os.fsencode, (self._folder, self._name))] != self._command_line[3:5]:
            raise ProcessLookupError  # another process, by now

    def take_over(self, limits: bytes, user: list[bytes]) -> None:
        """Take what the client has, and note where it has others than *limits*, of this process.

        It has to be of the same *user* as this process.

        Raises: OSError or ValueError where something cannot be taken over.
        """
        streams = range(_STREAMS, 2 * _STREAMS)
        self._streams = [self._keep(self._descriptor(number)) for number in streams]
        status = self._file("status")
        if _user(status) != user:
            raise PermissionError
        its = self._file("limits")
        if its != limits:
            self._note_limits(its.splitlines(), limits.splitlines())
        words = self._command_line[self._command_line.index(b"--") + 1 :]
        self._argv = [*map(os.fsdecode, words)]
        self._environment = _environment(self._file("environ"))
        self._umask = int(_fact(status, b"Umask"), 8)
        self._place = self._keep(os.open(f"/proc/{self._process}/cwd", _PLACE))
        self._watched = (self._handle, self._keep(os.pidfd_open(int(_fact(status, b"PPid")))))

    def _note_limits(self, its: list[bytes], ours: list[bytes]) -> None:
        """Note the limits whose lines differ; they are in the order of their numbers."""
        for kind in range(_LIMITS):
            if its[kind + 1] != ours[kind + 1]:
                self.limits[kind] = limit = resource.prlimit(self._process, kind)
                self.raises_limits |= _is_higher(limit[1], resource.getrlimit(kind)[1])

    def open_answer(self) -> None:
        """Open the way to answer, which the rules of a command would forbid; raises OSError."""
        path = f"{self._folder}/{self._name}"
        self._answer = self._keep(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        os.write(self._answer, ACCEPTED)
        os.unlink(path)  # so that nobody tells the client to start its command once more

    def refuse(self) -> None:
        """Have the client start its command itself."""
        try:
            if self._answer < 0:
                self.open_answer()
            os.write(self._answer, f"{REFUSAL}\n".encode())
        except OSError:  # it has ended
            return

    def command(self, ruleset: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """Return what the process needs that becomes the command, with its handles."""
        words = (self._argv, self._environment, self._umask)
        return words, (*self._streams, self._place, ruleset)

    @property
    def ends(self) -> tuple[int, ...]:
        """The handles that the process beside the command needs."""
        return (self._streams[2], self._answer, *self._watched)

    def start(self, rules: dict[str, Any]) -> None:
        """Run the command by *rules* from this process, which is forked for it, and answer."""
        close_others({2, *self._handles})
        os.fchdir(self._place)
        os.umask(self._umask)
        set_limits(self.limits)
        for number, stream in enumerate(self._streams):
            os.dup2(stream, number)
        code = launch.start(rules, self._argv, self._environment, self._watched)
        os.write(self._answer, b"%d\n" % code)

    def close(self) -> None:
        """Close all that was taken over, and remove what is left of the request."""
        for handle in self._handles:
            os.close(handle)
        if self._answer >= 0:
            try:
                os.unlink(f"{self._folder}/{self._name}{CLAIM}")
            except OSError:  # the session's folder is gone
                return

    def _keep(self, handle: int) -> int:
        self._handles.append(handle)
        return handle

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


def _is_higher(limit: int, other: int) -> bool:
    return other != resource.RLIM_INFINITY and not 0 <= limit <= other


def _user(status: bytes) -> list[bytes]:
    """Return the user of a process, with the groups; raises ValueError."""
    return [_fact(status, name) for name in (b"Uid", b"Gid", b"Groups")]


def _fact(status: bytes, name: bytes) -> bytes:
    """Return a value from what the system says about a process; raises ValueError."""
    _, sign, after = status.partition(b"\n%b:\t" % name)
    if not sign:
        raise ValueError(name)
    return after.partition(b"\n")[0]


if __name__ == "__main__":
    main()
