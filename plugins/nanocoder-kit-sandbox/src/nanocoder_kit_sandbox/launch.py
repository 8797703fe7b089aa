"""The program that starts a command inside Landlock, and stays beside it until all of it has ended.

This process keeps outside of the command's rules: it holds the lock of what runs inside, answers
the calls that rules for paths cannot judge, and ends what the command leaves behind.
"""

from __future__ import annotations

# This runs before each command: a module such as `signal` or `typing`, which imports `enum`, takes
# longer than all of the rest.
import fcntl
import marshal
import os
import select
import sys

from nanocoder_kit_sandbox import command, kernel
from nanocoder_kit_sandbox.broker import Broker, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any, Final, NoReturn
else:
    import _signal as signal

REAP_MS: Final = 1_000
NOTE: Final = "left running in the background, and ended with the call"
_BY_SIGNAL: Final = 128
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> NoReturn:
    """Run the words after "--", by the rules in the file that is named before it."""
    argv = sys.argv[3:]
    with open(sys.argv[1], "rb") as file:
        rules: dict[str, Any] = marshal.load(file)  # noqa: S302 - nanocoder wrote it
    kernel.end_with_parent(signal.SIGKILL)
    kernel.gain_no_rights()
    os._exit(start(rules, argv, dict(os.environ)))


def start(
    rules: dict[str, Any],
    argv: list[str],
    environment: dict[str, str],
    watched: tuple[int, ...] = (),
) -> int:
    """Run *argv* by *rules*, and return the code with which it ended.

    It ends when one of the processes ends whose handles are *watched*.
    """
    lock = os.open(rules["lock"], os.O_RDWR | os.O_CLOEXEC)
    fcntl.lockf(lock, fcntl.LOCK_SH)
    kernel.give_up_rights()
    kernel.adopt_orphans()
    # Both are made here: after a fork each page of memory that is touched is copied.
    outer, inner = outer_ruleset(rules), inner_ruleset(rules)
    kernel.restrict(outer)
    broker = Broker(lambda: rules, granted_files(rules))
    broker_reads, inside_writes = os.pipe()
    inside_reads, broker_writes = os.pipe()
    process = kernel.fork()
    if not process:
        try:
            _run(rules, argv, environment, inner, (inside_writes, inside_reads))
        except OSError as error:
            command.say_failed(argv, error)
        os._exit(command.NOT_FOUND)
    os.close(inside_writes)
    os.close(inside_reads)
    os.close(inner)
    status = _stand_by(process, broker, (broker_reads, broker_writes), watched, lambda: None)
    os.close(lock)
    return _code_of(status)


def _code_of(status: int) -> int:
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else _BY_SIGNAL + os.WTERMSIG(status)


def granted_files(rules: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return which file each path leads to that Landlock lets a command change."""
    return {path: identity(path) for path in rules["granted"]}


def outer_ruleset(rules: dict[str, Any], states: list[kernel.State | None] | None = None) -> int:
    """Return a handle of what this process, and the command, may change where."""
    change, version = kernel.CHANGE | kernel.MAKE_DEVICE, rules["version"]
    return kernel.ruleset(
        rules["outer"], change, network=True, scopes=False, version=version, states=states
    )


def inner_ruleset(rules: dict[str, Any], states: list[kernel.State | None] | None = None) -> int:
    """Return a handle of what the command may do with which path."""
    network, version = rules["network"], rules["version"]
    return kernel.ruleset(
        rules["inner"], -1, network=network, scopes=True, version=version, states=states
    )


def _run(
    rules: dict[str, Any],
    argv: list[str],
    environment: dict[str, str],
    inner: int,
    pipes: tuple[int, int],
) -> None:
    """Give up all that the rules do not leave, and become the command; raises OSError."""
    command.stay_with_parent()
    command.restrict(rules["limits"], inner)
    resolved = command.resolve(rules["variables"], argv, environment)
    listener = kernel.listen_to_calls(rules["filter"])
    writes, reads = pipes
    os.write(writes, str(listener).encode())
    os.read(reads, 1)
    command.run(*resolved)


def attend(process: int, handle: int, broker: Broker, watched: tuple[int, ...]) -> int:
    """Answer the calls of *process*, a command with a *handle*, and return its code."""
    _end_upon_signals()
    return _code_of(_attend(process, handle, broker, watched))


def rehearse(process: int, handle: int) -> None:
    """Do what changes nothing: after a fork, a page of memory is copied when first touched."""
    _end_upon_signals()
    poll = select.poll()
    for each in (handle, 0, 1):
        poll.register(each, select.POLLIN)
    dict(poll.poll(0)).keys().isdisjoint(())
    _reap(process)
    _code_of(0)


def _end_upon_signals() -> None:
    for number in _ENDING:
        signal.signal(number, lambda number, _: _end(number))


def _stand_by(
    process: int,
    broker: Broker,
    pipes: tuple[int, int],
    watched: tuple[int, ...],
    begin: Callable[[], None],
) -> int:
    """Answer the calls of *process*, which says where it listens; return how it ended."""
    reads, writes = pipes
    _end_upon_signals()
    handle = os.pidfd_open(process)
    words = os.read(reads, 20)
    if not words:  # it failed, and said why
        return os.waitpid(process, 0)[1]
    broker.listener = kernel.handle_of(handle, int(words))
    os.umask(0)
    os.write(writes, b"x")
    begin()
    return _attend(process, handle, broker, watched)


def _attend(process: int, handle: int, broker: Broker, watched: tuple[int, ...]) -> int:
    """Answer calls until *process* ends, then end the rest; return how it ended."""
    listener, poll = broker.listener, select.poll()
    poll.register(listener, select.POLLIN)
    for each in (handle, *watched):
        poll.register(each, select.POLLIN)
    while True:
        ready = dict(poll.poll(REAP_MS))
        if ready.get(listener, 0) & select.POLLIN:
            broker.answer()
        elif listener in ready:  # nobody is left to ask, and the last one ends
            poll.unregister(listener)
            continue
        if handle in ready:
            break
        if not ready.keys().isdisjoint(watched):
            _end(signal.SIGKILL)
        _reap(process)
    status = os.waitpid(process, 0)[1]
    if names := _end_all():
        os.write(2, f"[{NOTE}: {', '.join(names)}]\n".encode())
    return status


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


def _end(number: int) -> NoReturn:
    """End everything inside, and this process, as a signal asks."""
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    _end_all()
    os._exit(_BY_SIGNAL + number)


if __name__ == "__main__":
    main()
