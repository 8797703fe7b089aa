"""The program that starts a command inside Landlock, and stays beside it until all of it has ended.

This process keeps outside of the command's rules: it holds the lock of what runs inside, answers
the calls that rules for paths cannot judge, and ends what the command leaves behind.
"""

from __future__ import annotations

# This runs before each command: a module such as `signal` or `typing`, which imports `enum`, takes
# longer than all of the rest. The process that stays imports other modules later, while the command
# gets ready.
import gc
import marshal
import posix
import sys
from posix import _exit as leave

from nanocoder_sandbox_landlock import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, Final, NoReturn

    from nanocoder_sandbox_landlock.broker import Broker
else:
    import _signal as signal

REAP_MS: Final = 1_000
NOTE: Final = "left running in the background, and ended with the call"
NOT_FOUND: Final = 127
DEFAULT_PATH: Final = b"/bin:/usr/bin"
_BY_SIGNAL: Final = 128
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NOT_IGNORED: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""An interpreter ignores them, which a command must not inherit."""


def main() -> NoReturn:
    """Run the words after "--", by the rules in the file that is named before it."""
    argv = sys.argv[3:]
    with open(sys.argv[1], "rb") as file:
        rules: dict[str, Any] = marshal.load(file)  # noqa: S302 - nanocoder wrote it
    gc.disable()  # it would touch, and so copy, all memory after the fork
    kernel.end_with_parent(signal.SIGTERM)
    if kernel.identity(f"/proc/{rules['nanocoder']}") == (0, 0):  # it was killed before that line
        leave(_BY_SIGNAL + signal.SIGTERM)
    kernel.gain_no_rights()
    leave(_start(rules, argv))


def _start(rules: dict[str, Any], argv: list[str]) -> int:
    """Run *argv* by *rules*, and return the code with which it ended."""
    beside = _Beside(rules)
    kernel.give_up_rights()
    kernel.adopt_orphans()
    kernel.restrict(_outer(rules))
    from_inside, to_broker = posix.pipe()
    from_broker, to_inside = posix.pipe()
    process = kernel.fork()
    if not process:
        posix.close(from_inside)
        posix.close(to_inside)
        try:
            _run(rules, argv, (to_broker, from_broker))
        except OSError as error:
            posix.write(2, f"nanocoder: {argv[0]}: {error.strerror}\n".encode())
        leave(NOT_FOUND)
    posix.close(to_broker)
    posix.close(from_broker)
    status = beside.stand_by(process, (from_inside, to_inside))
    if posix.WIFEXITED(status):
        return posix.WEXITSTATUS(status)
    return _BY_SIGNAL + posix.WTERMSIG(status)


def _outer(rules: dict[str, Any]) -> int:
    change, version = kernel.CHANGE | kernel.MAKE_DEVICE, rules["version"]
    return kernel.ruleset(
        rules["outer"], change, root=rules["root"], network=True, scopes=False, version=version
    )


def _inner(rules: dict[str, Any]) -> int:
    network, version, root = rules["network"], rules["version"], rules["root"]
    return kernel.ruleset(
        rules["inner"], -1, root=root, network=network, scopes=True, version=version
    )


def _run(rules: dict[str, Any], argv: list[str], pipes: tuple[int, int]) -> None:
    """Give up all that the rules do not leave, and become the command.

    Not where the process beside it has ended. Raises: OSError.
    """
    for number in _NOT_IGNORED:
        signal.signal(number, signal.SIG_DFL)
    kernel.end_with_parent(signal.SIGKILL)
    posix.setsid()  # so no signal for the group of this process reaches it
    for kind, limit in rules["limits"].items():
        kernel.set_limit(kind, limit)
    kernel.restrict(_inner(rules))
    environment = {**posix.environ, **rules["variables"]}
    environment = {name: value for name, value in environment.items() if value is not None}
    program = _find(argv[0], environment.get(b"PATH", DEFAULT_PATH))
    listener = kernel.listen_to_calls(rules["filter"])
    to_broker, from_broker = pipes
    posix.write(to_broker, str(listener).encode())
    if posix.read(from_broker, 1):
        posix.execve(program, argv, env=environment)


def _find(name: str, path: bytes) -> bytes:
    program = name.encode(sys.getfilesystemencoding(), "surrogateescape")
    paths = [program if b"/" in program else folder + b"/" + program for folder in path.split(b":")]
    return next((path for path in paths if posix.access(path, posix.X_OK)), paths[0])


class _Beside:
    """The helper process beside a command, until all of the command has ended."""

    def __init__(self, rules: dict[str, Any]) -> None:
        self._rules = rules
        self._lock = posix.open(rules["lock"], posix.O_RDWR | posix.O_CLOEXEC)
        flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CLOEXEC
        self._notes = posix.open(rules["notes"], flags)
        self._broker: Broker | None = None
        self._ended: dict[int, int] = {}
        # Which files they are has to be known before a command can put others in their place.
        self._granted = {path: kernel.identity(path) for path in rules["granted"]}

    def stand_by(self, process: int, pipes: tuple[int, int]) -> int:
        """Answer the calls of *process*, which says where it listens; return how it ended."""
        import fcntl  # while the other process gets ready

        for number in _ENDING:
            signal.signal(number, lambda number, _: self._end(number))
        fcntl.lockf(self._lock, fcntl.LOCK_SH)
        pidfd, (from_inside, to_inside) = posix.pidfd_open(process), pipes
        if words := posix.read(from_inside, 20):  # otherwise it failed, and said why
            listener = kernel.descriptor_of(pidfd, int(words))
            posix.umask(0)
            posix.write(to_inside, b"x")
            self._answer_until_end(pidfd, listener)
        if process not in self._ended:
            self._ended[process] = posix.waitpid(process, 0)[1]
        names = self._end_all()
        self._close()
        if names:
            posix.write(2, f"[{NOTE}: {', '.join(names)}]\n".encode())
        return self._ended[process]

    def _made_broker(self, listener: int) -> Broker:
        # Most commands that only read have no use for it, and end sooner than it is imported.
        from nanocoder_sandbox_landlock.broker import Broker

        if self._broker is None:
            self._broker = Broker(self._rules, listener, self._granted, self._notes)
        return self._broker

    def _answer_until_end(self, pidfd: int, listener: int) -> None:
        import select

        poll = select.poll()
        poll.register(listener, select.POLLIN)
        poll.register(pidfd, select.POLLIN)
        while True:
            ready = dict(poll.poll(REAP_MS))
            if ready.get(listener, 0) & select.POLLIN:
                self._made_broker(listener).answer()
            elif listener in ready:  # nobody is left to ask, and the last one ends
                poll.unregister(listener)
                continue
            if pidfd in ready:
                return
            self._reap()

    def _reap(self) -> bool:
        """Take note of children that have ended; tell whether there are others."""
        try:
            while (ended := posix.waitpid(-1, posix.WNOHANG))[0]:
                self._ended[ended[0]] = ended[1]
        except ChildProcessError:
            return False
        return True

    def _end_all(self) -> list[str]:
        """End every descendant and return their names; those of one that ends become our children.

        All are stopped before the first is killed: otherwise one would fork meanwhile.
        """
        names: dict[int, str] = {}
        while self._reap():
            running = _descendants()
            are_stopped = running.keys() <= names.keys()
            for process in running:
                _send(process, signal.SIGKILL if are_stopped else signal.SIGSTOP)
            names |= running
            posix.sched_yield()
        return sorted(names.values())

    def _close(self) -> None:
        if self._broker is not None:
            self._broker.paths.close()

    def _end(self, number: int) -> NoReturn:
        """End everything inside, and this process, as a signal asks."""
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        self._end_all()
        self._close()
        leave(_BY_SIGNAL + number)


def _descendants() -> dict[int, str]:
    """Return the names of the processes below this one that have not ended, by their numbers."""
    names, parents = {}, {}
    for name in filter(str.isdigit, posix.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                before, _, after = file.read().decode(errors="replace").rpartition(")")
        except OSError:  # it has ended
            continue
        state, parent = after.split()[:2]
        parents[int(name)] = int(parent)
        if state not in "XZ":
            names[int(name)] = before.partition("(")[2]
    below = {posix.getpid()}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    return {process: names[process] for process in below & names.keys() - {posix.getpid()}}


def _send(process: int, number: int) -> None:
    try:
        posix.kill(process, number)
    except OSError:  # it has ended
        return
