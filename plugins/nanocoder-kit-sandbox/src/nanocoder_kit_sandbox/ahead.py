"""Two processes that are forked before there is the command that they run.

A fork that copies memory, and a filter of calls that is put into force, take longer than many
commands. So both are done ahead. One process answers the calls that need to know which path they
are about, and ends what the command leaves; the other one, its child, becomes the command. A third
process forks them, so that the one that serves commands copies no memory for it.
"""

from __future__ import annotations

import _socket
import fcntl
import marshal
import os
import resource
import struct

from nanocoder_kit_sandbox import command, kernel, launch
from nanocoder_kit_sandbox.broker import Broker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

_SIZE: Final = struct.Struct("=Q")
_HANDLE_BYTES: Final = 4
_MOST_HANDLES: Final = 8
_VARIABLES: Final = 100
_VARIABLE_CHARS: Final = 20
"""So many variables an environment has, of this length, and"""
_RULES_BYTES: Final = 6_000
"""so long rules are, about."""
_MOST_OPEN: Final = 1 << 16
_READY: Final = b"x"
_ENDED: Final = 1

Limits = dict[int, tuple[int, int]]


class Forker:
    """The process that forks what waits for a command; it is started again where it was killed."""

    def __init__(self) -> None:
        self._socket: _socket.socket | None = None
        self._process = 0

    def fork(self, program: bytes, handles: tuple[int, int, int]) -> None:
        """Have two processes forked, with the filter *program* in force; raises OSError.

        The handles are the sockets at which they wait, and a ruleset for both.
        """
        for is_last in (False, True):
            try:
                send(self._socket or self._start(), program, handles)
            except OSError:
                self.end()
                if is_last:
                    raise
            else:
                return

    def end(self) -> None:
        """End the process, and wait for that."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            os.waitpid(self._process, 0)

    def _start(self) -> _socket.socket:
        self._socket, theirs = _socket.socketpair()
        self._process = kernel.fork()
        if not self._process:
            try:
                close_others({2, theirs.fileno()})
                _fork_pairs(theirs)
            finally:
                os._exit(_ENDED)
        theirs.close()
        return self._socket


class Ahead:
    """Two processes with the filter *program* and the ruleset *outer* in force; raises OSError."""

    def __init__(self, forker: Forker, program: bytes, outer: int) -> None:
        self._broker, brokers = _socket.socketpair()
        self._command, commands = _socket.socketpair()
        try:
            forker.fork(program, (brokers.fileno(), commands.fileno(), outer))
        finally:
            brokers.close()
            commands.close()

    def run(
        self,
        described: tuple[dict[str, Any], bytes],
        limits: Limits,
        words: tuple[tuple[Any, ...], tuple[int, ...]],
        ends: tuple[int, ...],
    ) -> bool:
        """Have the command of *words* run by the rules that are *described*, and by *limits*.

        *words* are its words, environment and mask, and its handles: what it has open, the folder
        in which it runs, and its ruleset. The first of the handles *ends* is where what it left
        running is noted, the second gets the code with which it ended, and it ends when one of the
        processes ends that the others are for. Returns False where the processes were killed.
        """
        rules, text = described
        try:
            # The command may ask before its broker has all of this, and not before that is there.
            if not self._broker.recv(len(_READY)):
                return False
            lock = os.open(rules["lock"], os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            own = (limits, rules["limits"], rules["variables"], *words[0])
            send(self._command, own, words[1])
        except OSError:
            os.close(lock)
            return False
        try:
            send(self._broker, (limits, launch.granted_files(rules), text), (lock, *ends))
        except OSError:  # the command ends with its broker, and must not run twice
            return True
        finally:
            os.close(lock)
        return True

    def end(self) -> None:
        """End the processes where they wait still, and wait for that."""
        for socket in (self._command, self._broker):
            try:
                socket.shutdown(_socket.SHUT_WR)
                while socket.recv(len(_READY)):
                    pass
            except OSError:  # it has ended
                continue
        self.close()

    def close(self) -> None:
        """Leave the processes to their command; without one, they end."""
        self._command.close()
        self._broker.close()


def _fork_pairs(socket: _socket.socket) -> NoReturn:
    """Fork two processes upon each order; they become children of nanocoder."""
    while True:
        program, handles = receive(socket)
        process = kernel.fork()
        if not process:
            socket.close()
            if not kernel.fork():
                _be_broker(program, *handles)
            os._exit(0)
        for handle in handles:
            os.close(handle)
        os.waitpid(process, 0)


def _be_broker(program: bytes, place: int, commands: int, outer: int) -> NoReturn:
    """Wait for the rules of a command, answer its calls until it ends, and say how it ended."""
    try:
        kernel.give_up_rights()
        kernel.adopt_orphans()
        kernel.restrict(outer)
        hears, tells = os.pipe()
        process = kernel.fork()
        if not process:
            os.close(place)
            os.close(hears)
            _be_command(_socket.socket(fileno=commands), program, tells)
        os.close(commands)
        os.close(tells)
        handle = os.pidfd_open(process)
        listener = kernel.handle_of(handle, int(os.read(hears, 20) or b"-1"))
        socket = _socket.socket(fileno=place)
        socket.send(_READY)
        _rehearse_broker(process, handle)
        (limits, granted, text), (lock, errors, answer, *watched) = receive(socket)
        socket.close()
        fcntl.lockf(lock, fcntl.LOCK_SH)
        set_limits(limits)
        os.dup2(errors, 2)
        os.close(errors)
        broker = Broker(lambda: marshal.loads(text), granted)  # noqa: S302 - nanocoder wrote it
        broker.listener = listener
        os.umask(0)
        code = launch.attend(process, handle, broker, tuple(watched))
        os.close(lock)
        os.write(answer, b"%d\n" % code)  # the last step: the client does not wait for our end
    finally:
        os._exit(0)


def _be_command(socket: _socket.socket, program: bytes, tells: int) -> NoReturn:
    argv = [""]
    try:
        command.stay_with_parent()
        _rehearse_command()
        os.write(tells, str(kernel.listen_to_calls(program)).encode())
        os.close(tells)
        words, (*streams, folder, inner) = receive(socket)
        limits, lower, variables, argv, environment, umask = words
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.fchdir(folder)
        os.umask(umask)
        set_limits(limits)
        command.restrict(lower, inner)
        command.run(*command.resolve(variables, argv, environment))
    except OSError as error:
        command.say_failed(argv, error)
    finally:
        os._exit(command.NOT_FOUND)


def _rehearse_command() -> None:
    """Do what only reads: after a fork, a page of memory is copied when it is first touched."""
    environment = {f"{number}": f"{number}" * _VARIABLE_CHARS for number in range(_VARIABLES)}
    _, handles = _send_to_oneself(({}, environment, ["sh"], 0), (2,) * _MOST_HANDLES)
    for handle in handles:
        os.dup2(handle, handle)
        os.close(handle)
    os.umask(os.umask(0))
    set_limits({resource.RLIMIT_CORE: resource.getrlimit(resource.RLIMIT_CORE)})
    command.rehearse(environment)


def _rehearse_broker(process: int, handle: int) -> None:
    limits: Limits = {}
    words = (limits, {"/": (0, 0)}, bytes(_RULES_BYTES))
    (_, granted, _), received = _send_to_oneself(words, (2,) * _MOST_HANDLES)
    for each in received:
        os.close(each)
    Broker(dict, granted)
    os.umask(os.umask(0))
    launch.rehearse(process, handle)


def _send_to_oneself(what: Any, handles: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    ours, theirs = _socket.socketpair()
    try:
        send(ours, what, handles)
        return receive(theirs)
    finally:
        ours.close()
        theirs.close()


def set_limits(limits: Limits) -> None:
    """Set limits of this process; raises OSError or ValueError."""
    for kind, limit in limits.items():
        resource.setrlimit(kind, limit)


def close_others(handles: set[int]) -> None:
    """Close all that this process has open but *handles*."""
    start = 0
    for handle in sorted(handles):
        os.closerange(start, handle)
        start = handle + 1
    os.closerange(start, _MOST_OPEN)


def send(socket: _socket.socket, what: Any, handles: tuple[int, ...]) -> None:
    """Send values and handles to another process of ours; raises OSError."""
    text = marshal.dumps(what)
    rights = struct.pack(f"={len(handles)}i", *handles)
    # In one piece, so that the other process wakes once.
    text = _SIZE.pack(len(text)) + text
    sent = socket.sendmsg([text], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    # A receiver of all of it may have closed its end, so that nothing more can be sent: no error.
    if rest := text[sent:]:
        socket.sendall(rest)


def receive(socket: _socket.socket) -> tuple[Any, tuple[int, ...]]:
    """Wait for what another process of ours sends; end where it sends nothing more."""
    space = _socket.CMSG_SPACE(_HANDLE_BYTES * _MOST_HANDLES)
    size, sent, _, _ = socket.recvmsg(_SIZE.size, space, _socket.MSG_CMSG_CLOEXEC)
    if not size:
        os._exit(_ENDED)
    missing, text = _SIZE.unpack(size)[0], bytearray()
    while len(text) < missing:
        piece = socket.recv(missing - len(text))
        if not piece:
            os._exit(_ENDED)
        text += piece
    rights = sent[0][2]
    handles = struct.unpack(f"={len(rights) // _HANDLE_BYTES}i", rights)
    return marshal.loads(text), handles  # noqa: S302 - ours
