"""Import nanocoder once and fork for each command: `python prefork_server.py SOCKET COMMAND`.

Two thirds of a command's time are imports. Each fork is a process of its own, so that no command
leaves anything to the next one. The first forks say what they imported, which the server imports,
too. It ends when its standard input does.
"""

import fcntl
import gc
import importlib
import io
import marshal
import os
import select
import signal
import socket
import sys
import termios
import traceback
from contextlib import suppress

LEARNING = 12
"""So many forks say what they imported."""
INT = 4
"""Bytes of a number, as in prefork.py."""
FILES = 4
"""Descriptors of a request: the three standard streams and the working directory."""


def main(address: str, command: str) -> None:
    """Serve until the process that started this one is gone."""
    import nanocoder.cli.command_line  # noqa: F401  the first fork needs it

    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    reports, report = os.pipe()
    forks = 0
    gc.freeze()
    os.write(1, b"ready\n")
    while True:
        readable, _, _ = select.select([server, reports, 0], [], [])
        if 0 in readable:
            return
        if reports in readable:
            import_all(os.read(reports, 1 << 20).decode().split())
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if server in readable:
            connection, _ = server.accept()
            forks += 1
            if os.fork() == 0:
                serve(connection, command, report if forks <= LEARNING else None)
            connection.close()


def import_all(names: list[str]) -> None:
    """Import what a fork imported, so that the next ones have it."""
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
    gc.freeze()


def serve(connection: socket.socket, command: str, report: int | None) -> None:
    """Run one command in a fork and send its exit code; kill it when nobody waits for it."""
    head, files, _, _ = socket.recv_fds(connection, INT, FILES)
    size = int.from_bytes(head, "big")
    text = bytearray()
    while len(text) < size:
        text += connection.recv(size - len(text))
    child = os.fork()
    if child == 0:
        connection.close()
        run(command, files, bytes(text), report)
    for file in files:
        os.close(file)
    connection.send(child.to_bytes(INT, "big"))
    end = os.pidfd_open(child)
    readable, _, _ = select.select([end, connection], [], [])
    if end not in readable:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        connection.send(status.to_bytes(INT, "big", signed=True))
    os._exit(0)


def run(command: str, files: list[int], text: bytes, report: int | None) -> None:
    """Become the command: take its files, directory, variables and words."""
    *standard, directory = files
    for number, file in enumerate(standard):
        os.dup2(file, number)
    os.fchdir(directory)
    for file in files:
        os.close(file)
    words, variables, umask = marshal.loads(text)
    os.umask(umask)
    os.environb.clear()
    os.environb.update(variables)
    sys.argv = [command, *words]
    if os.isatty(0):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    open_streams()
    if report is not None:
        report_imports(report)
    code = 1
    try:
        importlib.import_module("nanocoder.cli").main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  as the interpreter does
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):  # it may be full, or closed
            sys.stdout.flush()
        os._exit(code)


def open_streams() -> None:
    """Make the standard streams anew: the server's may have been no terminals."""
    for number, (name, errors) in enumerate(
        [
            ("stdin", "surrogateescape"),
            ("stdout", "surrogateescape"),
            ("stderr", "backslashreplace"),
        ]
    ):
        raw = io.FileIO(number, "w" if number else "r", closefd=False)
        buffer = io.BufferedWriter(raw) if number else io.BufferedReader(raw)
        lines = number == 2 or raw.isatty()
        stream = io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=lines)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def report_imports(report: int) -> None:
    """Send the names of the modules that this process imported when it ends."""
    before = set(sys.modules)
    leave = os._exit

    def reporting(code: int) -> None:
        names = [name for name in sys.modules if name not in before]
        os.write(report, "".join(f"{name}\n" for name in names).encode())
        leave(code)

    os._exit = reporting  # type: ignore[assignment]


if __name__ == "__main__":
    main(*sys.argv[1:])
