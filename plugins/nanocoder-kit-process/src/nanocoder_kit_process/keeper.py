"""The process between nanocoder and a server: when nanocoder is gone, the server goes, too.

Run as a program, with the server's argument vector; imports nothing but the standard library. Its
standard input is a pipe whose other end nanocoder holds and writes nothing into: its end, however
nanocoder came to its own, means stop. It ends with the server's exit code.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

LOOK_S = 0.1
POLITE_S = 3.0
FORCE_S = 2.0
NOT_STARTED = 127
_PR_SET_CHILD_SUBREAPER = 36


def main(argv: list[str]) -> int:
    """Run *argv* until it ends, or until standard input does."""
    _adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the pipe says when to stop
    try:
        leader = _start(argv)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return NOT_STARTED
    code = None
    while code is None:
        ready, _, _ = select.select([0], [], [], LOOK_S)
        code = _reaped(leader)
        if ready and code is None:
            break
    _end(leader)
    return 0 if code is None else code


def _start(argv: list[str]) -> int:
    def own_signals() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=own_signals,  # noqa: PLW1509 - this program has one thread
    )
    process.returncode = 0  # waited for in `_reaped`, with all others
    return process.pid


def _adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs, where that is possible."""
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reaped(leader: int) -> int | None:
    """Wait for whoever has died; return the leader's exit code if it is among them."""
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
            _reaped(leader)
            if not _is_anybody_left(leader):
                return
            time.sleep(0.02)


def _send(leader: int, number: signal.Signals) -> None:
    for pid in list(_below(os.getpid())):
        try:
            os.kill(pid, number)
        except OSError:  # gone meanwhile
            continue
    try:
        os.killpg(leader, number)
    except OSError:
        return


def _is_anybody_left(leader: int) -> bool:
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
    """Yield all descendants; none where the system does not tell."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(one) for one in file.read().split()]
    except OSError:
        return
    for child in children:
        yield child
        yield from _below(child)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
