"""The thread that waits for the answer to a call: its memory, and its files by its names."""

from __future__ import annotations

import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

HERE: Final = -100  # AT_FDCWD
_MAX_PATH: Final = 4_096
"""As long as a page of memory."""
_OF_ONESELF: Final = (b"/proc/self", b"/proc/thread-self")


class Caller:
    """A thread of a command; each method raises OSError."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def handle_of(self, number: int) -> int:
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
        with open(f"/proc/{self._thread}/mem", "rb", buffering=0) as memory:
            text = b""
            while len(text) < _MAX_PATH and b"\0" not in text:
                # Up to the end of a page: the next one may not be there.
                here = address + len(text)
                size = min(_MAX_PATH - here % _MAX_PATH, _MAX_PATH)
                memory.seek(here)
                piece = memory.read(size)
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
