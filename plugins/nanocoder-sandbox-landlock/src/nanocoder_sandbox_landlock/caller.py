"""The thread that waits for the answer to a call: its memory, and its files by its names."""

from __future__ import annotations

import errno
import os
import stat
import struct

from nanocoder_sandbox_landlock import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Self

HERE: Final = -100  # AT_FDCWD
NO_PATH: Final = 0
_NO_NAMES: Final = (b"", b".", b"..")
_MAX_PATH: Final = 4_096
"""As long as a page of memory."""
_OF_ONESELF: Final = (b"/proc/self", b"/proc/thread-self")


class GoOn(Exception):
    """Let the system do the call under the rules of Landlock."""


class Caller:
    """A thread of a command; each method raises OSError."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def descriptor_of(self, number: int) -> int:
        """Open what it has open as *number*, to be looked at."""
        return os.open(f"/proc/{self._thread}/fd/{number}", os.O_PATH | os.O_CLOEXEC)

    def open_path(self, folder: int, path: bytes, *, follows: bool) -> int:
        """Open a path as it sees it, to be looked at, from what it has open as *folder*."""
        number = struct.unpack("=i", struct.pack("=Q", folder & (1 << 64) - 1)[:4])[0]
        own = f"/proc/{self._thread}".encode()
        for name in _OF_ONESELF:
            if (path + b"/").startswith(name + b"/"):
                path = own + path[len(name) :]
        if path[:1] != b"/":
            start = b"/cwd" if number == HERE else b"/fd/%d" % number
            path = own + start + (b"/" + path if path else b"")
        return os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW))

    def text(self, address: int) -> bytes:
        """Return the bytes at *address* up to a NUL, which is where a path ends."""
        text = b""
        while len(text) < _MAX_PATH and b"\0" not in text:
            # Up to the end of a page: the next one may not be there.
            start = address + len(text)
            piece = self.memory(start, _MAX_PATH - start % _MAX_PATH)
            if not piece:
                raise OSError(errno.EFAULT, "")
            text += piece
        text, end, _ = text.partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG, "")
        return text

    def memory(self, address: int, size: int) -> bytes:
        """Return *size* bytes at *address*."""
        with open(f"/proc/{self._thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def umask(self) -> int:
        """Return the rights that it gives to no new file."""
        with open(f"/proc/{self._thread}/status", "rb") as file:
            lines = file.read().split(b"\n", 3)
        return int(lines[1].partition(b":")[2], 8)

    def place(self, folder: int, address: int, *, follows: bool = False) -> Place:
        """Open the folder that a call is about, and return it with the name in it.

        *follows*: whether a link is what it leads to. Raises: GoOn for a path without a name.
        """
        path = self.text(address).rstrip(b"/")
        outer, slash, name = path.rpartition(b"/")
        if name in _NO_NAMES:
            raise GoOn
        place = Place(self.open_path(folder, outer or slash, follows=True), name)
        return _behind_link(place) if follows and stat.S_ISLNK(place.mode) else place

    def file(self, folder: int, address: int, *, follows: bool) -> int:
        """Open what a call is about, to be looked at."""
        path = self.text(address) if address else b""
        if not path:
            return self.descriptor_of(folder)
        return self.open_path(folder, path, follows=follows)


class Place:
    """A folder that is open as long as this is entered, and a name in it."""

    def __init__(self, folder: int, name: bytes) -> None:
        self.descriptor, self.name = folder, name

    def __enter__(self) -> Self:
        self.folder = path_of(self.descriptor)
        self.path = f"{self.folder}/{os.fsdecode(self.name)}"
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    @property
    def is_right(self) -> bool:
        """True while the path still leads to this directory."""
        return kernel.identity(self.folder) == facts_of(self.descriptor)

    @property
    def mode(self) -> int:
        """The mode of the file of that name, 0 without one."""
        try:
            return os.stat(self.name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
        except OSError:
            return 0


def _behind_link(place: Place) -> Place:
    """Return the folder and the name of what a link leads to; *place* is closed."""
    try:
        target = os.open(place.name, os.O_PATH | os.O_CLOEXEC, dir_fd=place.descriptor)
    except OSError:  # it leads to nothing
        raise GoOn from None
    finally:
        os.close(place.descriptor)
    try:
        outer, _, name = os.fsencode(path_of(target)).rpartition(b"/")
    finally:
        os.close(target)
    return Place(os.open(outer or b"/", os.O_PATH | os.O_CLOEXEC), name)


def path_of(descriptor: int) -> str:
    """Return the path of what is open."""
    return os.readlink(f"/proc/self/fd/{descriptor}")


def facts_of(descriptor: int) -> tuple[int, int]:
    """Return the device and inode of an open file."""
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino
