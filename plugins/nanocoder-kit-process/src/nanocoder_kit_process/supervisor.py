"""A supervisor between nanocoder and a server: when nanocoder ends, it terminates the server.

It is run as a program, with the server's argv, and imports only the standard library. Its standard
input is a pipe to which nanocoder never writes. When the pipe is closed, even because nanocoder
was killed, the supervisor stops. It exits with the server's exit code.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

LOOK_S = 0.1
POLITE_S = 3.0
FORCE_S = 2.0
NOT_STARTED = 127
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(argv: list[str]) -> int:
    """Run *argv* until it ends, or until standard input does."""
    prctl = _prctl()
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # descendants that lose their parents become ours
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # only the pipe stops it
    try:
        leader = _start(argv, prctl)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return NOT_STARTED
    code = None
    while code is None:
        ready, _, _ = select.select([0], [], [], LOOK_S)
        code = _reap(leader)
        if ready and code is None:
            break
    _end(leader)
    return 0 if code is None else code


def _start(argv: list[str], prctl: Callable[..., int]) -> int:
    def own_signals() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # it does not outlive a killed supervisor
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=own_signals,  # noqa: PLW1509 - this program has one thread
    )
    process.returncode = 0  # waited for in `_reap`, with all others
    return process.pid


def _prctl() -> Callable[..., int]:
    """Return the system call of that name, or a function that does nothing."""
    prctl: Callable[..., int] | None = getattr(ctypes.CDLL(None), "prctl", None)
    return (lambda *_: -1) if prctl is None else prctl


def _reap(leader: int) -> int | None:
    """Wait for children that have died; return the leader's exit code if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not pid:
            return code
        if pid == leader:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code


def _end(leader: int) -> None:
    """End the server and everything that came from it, politely and then by force."""
    for number, patience_s in ((signal.SIGTERM, POLITE_S), (signal.SIGKILL, FORCE_S)):
        _send(leader, number)
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            _reap(leader)
            if not _has_descendants(leader):
                return
            if number == signal.SIGKILL:
                # Processes may have started, or lost their parent, since the last time.
                _send(leader, number)
            time.sleep(0.02)


def _send(leader: int, number: signal.Signals) -> None:
    for pid in list(_below(os.getpid())):
        try:
            os.kill(pid, number)
        except OSError:  # ended meanwhile
            continue
    try:
        os.killpg(leader, number)
    except OSError:
        return


def _has_descendants(leader: int) -> bool:
    if any(True for _ in _below(os.getpid())):
        return True
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _below(pid: int) -> Iterator[int]:
    """Yield all descendants; none if the system does not list them."""
    queue = [pid]
    while queue:
        children = list(_children(queue.pop()))
        yield from children
        queue += children


def _children(pid: int) -> Iterator[int]:
    """Yield the children of all threads of a process."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                yield from map(int, file.read().split())
        except OSError:  # ended meanwhile
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
