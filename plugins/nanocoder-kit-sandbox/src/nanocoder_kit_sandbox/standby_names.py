"""The names that nothing may appear at, held by empty folders in a sandbox that is there already.

A folder has to be in the workspace to be mounted over, and must not be there while no command
runs. So these mounts, unlike all others, are made when a command comes: by a process that is in
the sandbox's user and mount namespaces, with rights over these two alone, and that ends before the
command starts. It is in no other namespace of the sandbox, and nothing inside can see it.
"""

from __future__ import annotations

import _socket
import fcntl
import os

from nanocoder_kit_sandbox import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Final, NoReturn
else:
    import _signal as signal

SEPARATOR: Final = "/"
_OPEN_FILE_SYSTEM, _CONFIGURE, _MOUNT, _MOVE = 430, 431, 432, 429
_ENTER: Final = {"x86_64": 308, "aarch64": 268}
_OWNER: Final = 0xB701  # NS_GET_USERNS
_USER, _MOUNTS = 0x1000_0000, 0x2_0000
_CLOSE_ON_EXEC: Final = 1
_SET_TEXT, _CREATE = 1, 6
_NO_OWNERS_NO_DEVICES: Final = 0x2 | 0x4
_FROM_HANDLE: Final = 0x4
_MODE: Final = b"0555"
_FOLDER: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_DONE: Final = b"x"
_MAX_BYTES: Final = 1 << 12


class NameHolder:
    """A process that waits to hold up to *most* names in *folder*, inside with *first*.

    *others* are handles that it does not keep open. Raises: OSError.
    """

    def __init__(self, first: int, folder: str, most: int, others: tuple[int, ...]) -> None:
        self._most = most
        self._socket, theirs = _socket.socketpair()
        if not kernel.fork():
            try:
                self._socket.close()
                for handle in others:
                    os.close(handle)
                _wait_for_names(theirs, first, folder, most)
            finally:
                os._exit(1)
        theirs.close()
        if self._socket.recv(len(_DONE)) != _DONE:
            raise OSError("the names of the workspace cannot be held")

    def begin(self, names: list[str]) -> None:
        """Have *names* held; raises OSError."""
        if len(names) > self._most:
            raise OSError("there are more names to hold than was expected")
        # Not empty, so that it differs from the end.
        self._socket.send(os.fsencode(SEPARATOR.join((*names, ""))) or SEPARATOR.encode())

    def finish(self) -> None:
        """Wait until the names are held, and the process has ended; raises OSError."""
        if self._socket.recv(len(_DONE)) != _DONE:
            raise OSError("a name of the workspace cannot be held")
        self._socket.recv(len(_DONE))  # it ends
        self._socket.close()


def _wait_for_names(socket: _socket.socket, first: int, folder: str, most: int) -> NoReturn:
    kernel.end_with_parent(signal.SIGKILL)
    mounts = os.open(f"/proc/{first}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    enter = _ENTER[os.uname().machine]
    kernel.call(enter, fcntl.ioctl(mounts, _OWNER), _USER)
    kernel.call(enter, mounts, _MOUNTS)
    empty = [_empty_folder() for _ in range(most)]
    place = os.open(folder, _FOLDER)
    os.umask(0)
    socket.send(_DONE)
    text = os.fsdecode(socket.recv(_MAX_BYTES))
    if text:
        for name, mount in zip(filter(None, text.split(SEPARATOR)), empty, strict=False):
            _hold(name, mount, place)
        socket.send(_DONE)
    os._exit(0)


def _empty_folder() -> int:
    """Return the handle of an empty folder that cannot be changed, mounted nowhere yet."""
    system = kernel.call(_OPEN_FILE_SYSTEM, b"tmpfs", _CLOSE_ON_EXEC)
    kernel.call(_CONFIGURE, system, _SET_TEXT, b"mode", _MODE, 0)
    kernel.call(_CONFIGURE, system, _CREATE, None, None, 0)
    mount = kernel.call(_MOUNT, system, _CLOSE_ON_EXEC, _NO_OWNERS_NO_DEVICES)
    os.close(system)
    return mount


def _hold(name: str, mount: int, place: int) -> None:
    _make_folder(name, place)
    # It follows no link: what became one meanwhile is an error.
    kernel.call(_MOVE, mount, b"", place, os.fsencode(name), _FROM_HANDLE)


def _make_folder(name: str, place: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=place)
    except FileExistsError:  # of an earlier command, or made meanwhile: nothing of it is seen
        return
