"""Two processes that are forked before there is the command that they run.

A fork that copies memory, and a filter of calls that is put into force, take longer than many
commands. So both are done ahead. One process answers the calls that need to know which path they
are about, and ends what the command leaves; the other one, its child, becomes the command.
"""

from __future__ import annotations

import _socket
import fcntl
import marshal
import os
import struct

from nanocoder_kit_sandbox import command, kernel, launch
from nanocoder_kit_sandbox.broker import Broker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

_SIZE: Final = struct.Struct("=Q")
_HANDLES: Final = struct.Struct("=5i")
_PLACE: Final = os.O_PATH | os.O_CLOEXEC
_READY: Final = b"x"
_ENDED: Final = 1


class Ahead:
    """The two processes, with the filter of calls and the outer rules of *expected* in force.

    They do not keep the handles *others* of this process open. Raises: OSError.
    """

    def __init__(self, expected: dict[str, Any], others: tuple[int, ...]) -> None:
        self._expected = expected
        # As long as they are open here, no other file gets the identity of one of them.
        self._places = [os.open(path, _PLACE) for path, _ in expected["outer"]]
        self._broker, brokers = _socket.socketpair()
        self._command, commands = _socket.socketpair()
        if not kernel.fork():
            try:
                self._broker.close()
                self._command.close()
                _be_broker(brokers, commands, expected, (*others, *self._places))
            finally:
                os._exit(_ENDED)
        brokers.close()
        commands.close()

    def fits(self, rules: dict[str, Any]) -> bool:
        """Tell whether *rules* are as expected, and are about the same files still."""
        if any(rules[name] != self._expected[name] for name in self._expected):
            return False
        places = zip(rules["outer"], self._places, strict=True)
        return all(_is_at(path, handle) for (path, _), handle in places)

    def run(
        self,
        rules: dict[str, Any],
        argv: list[str],
        environment: dict[str, str],
        watched: tuple[int, int],
        answer: int,
    ) -> bool:
        """Have *argv* run by *rules*, where this process is, and with its streams.

        The code with which it ended is written to *answer*. It ends when one of the processes ends
        whose handles are *watched*. Returns False where the processes were killed.
        """
        # The command may ask before its broker has all of this, and not before that is there.
        if not self._broker.recv(len(_READY)):
            return False
        lock = os.open(rules["lock"], os.O_RDWR | os.O_CLOEXEC)
        folder, inner = os.open(".", _PLACE), launch.inner_ruleset(rules)
        umask = os.umask(0)
        words = (rules["limits"], rules["variables"], argv, environment, umask)
        try:
            _send(self._command, words, (0, 1, 2, folder, inner))
        except OSError:
            os.umask(umask)
            self._broker.close()  # which ends the broker
            return False
        try:
            _send(self._broker, rules, (2, lock, answer, *watched))
        except OSError:  # the command ends with its broker, and must not run twice
            return True
        return True


def _is_at(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except OSError:
        return False


def _be_broker(
    socket: _socket.socket,
    commands: _socket.socket,
    expected: dict[str, Any],
    others: tuple[int, ...],
) -> NoReturn:
    """Wait for the rules of a command, answer its calls until it ends, and say how it ended."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in (0, 1):  # this process is none that holds up what nanocoder waits for
        os.dup2(nothing, number)
    for handle in (nothing, *others):
        os.close(handle)
    kernel.give_up_rights()
    kernel.adopt_orphans()
    kernel.restrict(launch.outer_ruleset(expected))
    hears, tells = os.pipe()
    process = kernel.fork()
    if not process:
        socket.close()
        os.close(hears)
        _be_command(commands, expected["filter"], tells)
    commands.close()
    os.close(tells)
    handle = os.pidfd_open(process)
    listener = kernel.handle_of(handle, int(os.read(hears, 20) or b"-1"))
    socket.send(_READY)
    rules, (errors, lock, answer, *watched) = _receive(socket)
    fcntl.lockf(lock, fcntl.LOCK_SH)
    os.dup2(errors, 2)
    os.close(errors)
    broker = Broker(rules)
    broker.listener = listener
    os.umask(0)
    code = launch.attend(process, handle, broker, tuple(watched))
    os.close(lock)
    os.write(answer, f"{code}\n".encode())
    os._exit(0)


def _be_command(socket: _socket.socket, program: bytes, tells: int) -> NoReturn:
    argv = [""]
    try:
        command.stay_with_parent()
        command.rehearse()
        os.write(tells, str(kernel.listen_to_calls(program)).encode())
        os.close(tells)
        words, (*streams, folder, inner) = _receive(socket)
        limits, variables, argv, environment, umask = words
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.fchdir(folder)
        os.umask(umask)
        command.restrict(limits, inner)
        command.run(*command.resolve(variables, argv, environment))
    except OSError as error:
        command.say_failed(argv, error)
    finally:
        os._exit(command.NOT_FOUND)


def _send(socket: _socket.socket, what: Any, handles: tuple[int, ...]) -> None:
    text = marshal.dumps(what)
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _HANDLES.pack(*handles))
    socket.sendmsg([_SIZE.pack(len(text))], [rights])
    socket.sendall(text)


def _receive(socket: _socket.socket) -> tuple[Any, tuple[int, ...]]:
    """Wait for what another process of ours sends; end where it sends nothing more."""
    space = _socket.CMSG_SPACE(_HANDLES.size)
    size, sent, _, _ = socket.recvmsg(_SIZE.size, space, _socket.MSG_CMSG_CLOEXEC)
    if not size:
        os._exit(_ENDED)
    missing, text = _SIZE.unpack(size)[0], bytearray()
    while len(text) < missing:
        piece = socket.recv(missing - len(text))
        if not piece:
            os._exit(_ENDED)
        text += piece
    return marshal.loads(text), _HANDLES.unpack(sent[0][2])  # noqa: S302 - ours
