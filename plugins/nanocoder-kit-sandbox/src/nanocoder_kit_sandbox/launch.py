"""The program that starts a command inside Landlock, and stays beside it until all of it has ended.

This process keeps outside of the command's rules: it holds the lock of what runs inside, answers
the calls that rules for paths cannot judge, and ends what the command leaves behind.
"""

from __future__ import annotations

# This runs before each command: a module such as `signal` or `typing`, which imports `enum`, takes
# longer than all of the rest.
import fcntl
import gc
import marshal
import os
import resource
import select
import sys

from nanocoder_kit_sandbox import kernel
from nanocoder_kit_sandbox.broker import Broker

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, Final, NoReturn
else:
    import _signal as signal

REAP_MS: Final = 1_000
NOTE: Final = "left running in the background, and ended with the call"
NOT_FOUND: Final = 127
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
    if not os.path.exists(f"/proc/{rules['nanocoder']}"):  # it was killed before that line
        os._exit(_BY_SIGNAL + signal.SIGTERM)
    kernel.gain_no_rights()
    os._exit(_start(rules, argv))


def _start(rules: dict[str, Any], argv: list[str]) -> int:
    """Run *argv* by *rules*, and return the code with which it ended."""
    lock = os.open(rules["lock"], os.O_RDWR | os.O_CLOEXEC)
    notes = os.open(rules["notes"], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    fcntl.lockf(lock, fcntl.LOCK_SH)
    kernel.give_up_rights()
    kernel.adopt_orphans()
    version = rules["version"]
    outer = kernel.ruleset(
        *(rules["outer"], kernel.CHANGE | kernel.MAKE_DEVICE),
        network=True,
        scopes=False,
        version=version,
    )
    inner = kernel.ruleset(
        rules["inner"], -1, network=rules["network"], scopes=True, version=version
    )
    kernel.restrict(outer)
    broker = Broker(rules, notes)
    broker.paths.git.begin()
    for number in _ENDING:
        signal.signal(number, lambda number, _: _end(number, broker))
    from_inside, to_broker = os.pipe()
    from_broker, to_inside = os.pipe()
    process = kernel.fork()
    if not process:
        try:
            _run(rules, argv, inner, (to_broker, from_broker))
        except OSError as error:
            os.write(2, f"nanocoder: {argv[0]}: {error.strerror}\n".encode())
        os._exit(NOT_FOUND)
    for descriptor in (to_broker, from_broker, inner):
        os.close(descriptor)
    status = _stand_by(process, broker, (from_inside, to_inside))
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else _BY_SIGNAL + os.WTERMSIG(status)


def _run(rules: dict[str, Any], argv: list[str], inner: int, pipes: tuple[int, int]) -> None:
    """Give up all that the rules do not leave, and become the command; raises OSError."""
    for number in (*_ENDING, *_NOT_IGNORED):
        signal.signal(number, signal.SIG_DFL)
    kernel.end_with_parent(signal.SIGKILL)
    os.setsid()  # so no signal for the group of this process reaches it
    for kind, limit in rules["limits"].items():
        resource.setrlimit(kind, (limit, limit))
    kernel.restrict(inner)
    path = _readable_path(os.environ.get("PATH", os.defpath))
    merged = {**os.environ, "PATH": path, **rules["variables"]}
    environment = {name: value for name, value in merged.items() if value is not None}
    program = _find(argv[0], path)
    listener = kernel.listen_to_calls(rules["filter"])
    to_broker, from_broker = pipes
    os.write(to_broker, str(listener).encode())
    os.read(from_broker, 1)
    os.execve(program, argv, env=environment)  # noqa: S606 - no shell reads the words


def _readable_path(path: str) -> str:
    """Return *path* without virtual environments that the rules hide.

    The links in them lead to a Python that starts, and then fails for want of `pyvenv.cfg`.
    """
    return ":".join(folder for folder in path.split(":") if not _is_hidden_environment(folder))


def _is_hidden_environment(folder: str) -> bool:
    try:
        os.close(os.open(f"{os.path.dirname(folder.rstrip('/'))}/pyvenv.cfg", os.O_RDONLY))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _find(name: str, path: str) -> str:
    folders = [""] if "/" in name else path.split(":")
    paths = [os.path.join(folder, name) for folder in folders]
    return next((path for path in paths if os.access(path, os.X_OK)), paths[0])


def _stand_by(process: int, broker: Broker, pipes: tuple[int, int]) -> int:
    """Answer the calls of *process*, which says where it listens; return how it ended."""
    from_inside, to_inside = pipes
    pidfd = os.pidfd_open(process)
    if words := os.read(from_inside, 20):  # otherwise it failed, and said why
        broker.listener = kernel.descriptor_of(pidfd, int(words))
        os.umask(0)
        os.write(to_inside, b"x")
        _answer_until_end(process, pidfd, broker)
    status = os.waitpid(process, 0)[1]
    names = _end_all()
    broker.paths.close()
    if names:
        os.write(2, f"[{NOTE}: {', '.join(names)}]\n".encode())
    return status


def _answer_until_end(process: int, pidfd: int, broker: Broker) -> None:
    listener, poll = broker.listener, select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(pidfd, select.POLLIN)
    while True:
        ready = dict(poll.poll(REAP_MS))
        if ready.get(listener, 0) & select.POLLIN:
            broker.answer()
        elif listener in ready:  # nobody is left to ask, and the last one ends
            poll.unregister(listener)
            continue
        if pidfd in ready:
            return
        _reap(process)


def _reap(process: int) -> None:
    """Take note of orphans that ended, and of nothing else."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == process:
            return
        os.waitpid(ended.si_pid, 0)


def _end_all() -> list[str]:
    """End every descendant and return their names; those of one that ends become our children."""
    ours = str(os.getpid())
    names: dict[str, str] = {}
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return sorted(names.values())
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    before, _, after = file.read().decode(errors="replace").rpartition(")")
                state, parent = after.split()[:2]
                if parent == ours:
                    if state not in "XZ":
                        names[name] = before.partition("(")[2]
                    os.kill(int(name), signal.SIGKILL)
            except (OSError, IndexError):
                continue
        select.poll().poll(1)


def _end(number: int, broker: Broker) -> NoReturn:
    """End everything inside, and this process, as a signal asks."""
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    _end_all()
    broker.paths.close()
    os._exit(_BY_SIGNAL + number)


if __name__ == "__main__":
    main()
