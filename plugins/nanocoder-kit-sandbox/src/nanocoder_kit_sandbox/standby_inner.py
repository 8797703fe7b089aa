"""The program that waits inside bubblewrap, starts one command there, and names what it leaves.

Where nanocoder is installed may be hidden inside, so the words of this file are passed to an
interpreter, and it imports only the standard library: what takes no time to import.
"""

from __future__ import annotations

import _socket
import errno
import fcntl
import marshal
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, Final, NoReturn
else:
    import _signal as signal

STREAMS: Final = 3
_INT_BYTES: Final = 4
_SIZE_BYTES: Final = 8
_BY_SIGNAL: Final = 128
_NOT_FOUND, _NOT_STARTED = 127, 126
_IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)
_OUTLIVED: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Signals that end a command, and not this process, which says how the command ended."""
_ENDED: Final = ("Z", "X")


def main() -> NoReturn:
    """Wait at the socket whose number is the argument; exit with the code of the command."""
    socket = _socket.socket(fileno=int(sys.argv[1]))
    fcntl.fcntl(socket.fileno(), fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    socket.send(b"x")
    request = _receive(socket)
    # Nothing of this process leads out when the command starts: it can be traced by that.
    socket.close()
    for number in _OUTLIVED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)
    code = _run(request)
    if names := _left_running(request["sandbox"]):
        os.write(2, b"[%b: %b]\n" % (request["note"], b", ".join(names)))
    os._exit(code)


def _run(request: dict[str, Any]) -> int:
    """Start the command, and return the code with which it ended."""
    argv: list[bytes] = request["argv"]
    try:
        for kind, limit in request["limits"].items():
            resource.setrlimit(kind, limit)
        environment: dict[bytes, bytes] = request["environment"]
        environment[b"PWD"] = _enter(request["folder"], environment.get(b"HOME", b""))
        os.umask(request["umask"])
        program = _find(argv[0], environment.get(b"PATH", os.defpath.encode()))
        process = os.posix_spawn(program, argv, environment, setsigdef=_IGNORED_BY_PYTHON)
    except (OSError, ValueError) as error:
        os.write(2, b"nanocoder: %b: %b\n" % (argv[0], str(error).encode()))
        is_missing = isinstance(error, OSError) and error.errno == errno.ENOENT
        return _NOT_FOUND if is_missing else _NOT_STARTED
    status = os.waitpid(process, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else _BY_SIGNAL + os.WTERMSIG(status)


def _enter(folder: bytes, home: bytes) -> bytes:
    """Go to where the command starts; where that is not seen inside, as bubblewrap does."""
    for path in filter(None, (folder, home)):
        try:
            os.chdir(path)
        except OSError:
            continue
        return path
    os.chdir("/")
    return b"/"


def _find(name: bytes, path: bytes) -> bytes:
    if b"/" in name:
        return name
    paths = [os.path.join(folder, name) for folder in path.split(b":")]
    return next((path for path in paths if os.access(path, os.X_OK)), name)


def _left_running(sandbox: bytes) -> list[bytes]:
    """Return the names of the processes that run but for this, the first, and the *sandbox*'s."""
    own = ("1", str(os.getpid()))
    names = []
    for number in sorted(filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                before, _, after = file.read().rpartition(b")")
        except OSError:  # it has ended
            continue
        name = before.partition(b"(")[2]
        if number not in own and name != sandbox and after.split()[0].decode() not in _ENDED:
            names.append(name)
    return names


def _receive(socket: _socket.socket) -> dict[str, Any]:
    """Wait for a command, and have its streams as one's own; end where there will be none."""
    space = _socket.CMSG_SPACE(STREAMS * _INT_BYTES)
    head, rights, _, _ = socket.recvmsg(_SIZE_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
    text = bytearray()
    while head and len(text) < int.from_bytes(head, sys.byteorder):
        piece = socket.recv(int.from_bytes(head, sys.byteorder) - len(text))
        if not piece:
            os._exit(0)
        text += piece
    if not head:
        os._exit(0)
    handles = rights[0][2]
    for number in range(STREAMS):
        handle = handles[number * _INT_BYTES : (number + 1) * _INT_BYTES]
        os.dup2(int.from_bytes(handle, sys.byteorder), number)
    os.closerange(STREAMS, socket.fileno())
    os.closerange(socket.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    request: dict[str, Any] = marshal.loads(text)  # noqa: S302 - ours
    return request


if __name__ == "__main__":
    main()
