"""The output of one pipe: all of it in memory while it is short, else head, tail and a file."""

import os
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Final

from attrs import frozen
from nanocoder import OutputLimit, clip_output, counted

from nanocoder_tool_bash.condense import shorten
from nanocoder_tool_bash.frames import last_states

MEMORY_BYTES: Final = 1 << 20  # of each stream, beyond it half as head and half as tail
FILE_BYTES: Final = 100_000_000
READ_BYTES: Final = 1 << 16  # the size of a pipe on Linux
ENDS_BYTES: Final = MEMORY_BYTES // 2


@frozen
class Stream:
    """One finished stream. *tail* is empty if *head* is all of it.

    *size* is in bytes; *lines* is the number of line ends.
    """

    head: bytes
    tail: bytes
    size: int
    lines: int
    is_binary: bool

    @property
    def text(self) -> str:
        """The decoded head, or all of it; bytes that are not UTF-8 become U+FFFD."""
        return self.head.decode("utf-8", "replace")

    def clip(self, limit: OutputLimit, where: str) -> str:
        """Return no more text than *limit* shows; *where* is the file with all of it, or ""."""
        if self.is_binary:
            return self._binary(where)
        return clip_output(self._ends, limit, where=where, unseen=self._unseen)

    def shorten(self, limit: OutputLimit, where: str) -> str:
        """Return as much as *limit* shows with like lines counted, and lines about errors."""
        if self.is_binary:
            return self._binary(where)
        return shorten(last_states(self._ends), limit, where, self._unseen)

    def _binary(self, where: str) -> str:
        origin = f"; whole output: {where}" if where else ""
        return f"[binary output: {counted(self.size, 'byte')}, not shown{origin}]"

    @property
    def _ends(self) -> str:
        return self.text + self.tail.decode("utf-8", "replace")

    @property
    def _unseen(self) -> tuple[int, int]:
        """The lines and characters between head and tail."""
        if not self.tail:
            return 0, 0
        return (
            self.lines - self.head.count(b"\n") - self.tail.count(b"\n"),
            self.size - len(self.head) - len(self.tail),
        )


class Capture:
    """Reads one pipe without ever blocking; memory and file are bounded, *size* is not."""

    def __init__(
        self, pipe: IO[bytes], tap: Callable[[int, bytes], None] = lambda _fd, _chunk: None
    ) -> None:
        """Read *pipe*; *tap* gets each chunk at once, with the pipe's descriptor."""
        self.fd = pipe.fileno()
        self._tap = tap
        self.is_open = True
        self._pipe = pipe
        self._head = bytearray()
        self._tail = bytearray()
        self._file: IO[bytes] | None = None
        self.size = 0
        self._lines = 0
        self._is_binary = False
        os.set_blocking(self.fd, False)

    def read(self) -> bool:
        """Read once; return False when the pipe is empty or closed."""
        try:
            chunk = os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self.is_open = False
            return False
        self._add(chunk)
        self._tap(self.fd, chunk)
        return True

    def drain(self) -> None:
        """Read the rest, up to the limit in memory: an escaped process may continue to write."""
        limit = self.size + MEMORY_BYTES
        while self.is_open and self.size < limit and self.read():
            pass

    def stream(self) -> Stream:
        """Return the output so far."""
        if self.size <= MEMORY_BYTES:
            return Stream(bytes(self._head), b"", self.size, self._lines, self._is_binary)
        tail = bytes(self._tail[-ENDS_BYTES:])
        return Stream(bytes(self._head), tail, self.size, self._lines, self._is_binary)

    def everything(self) -> bytes:
        """Return all of the output, up to 100 MB or the free space of the disk."""
        if self._file is None:
            return bytes(self._head)
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        """Close the pipe and the temporary file."""
        self.is_open = False
        self._pipe.close()
        if self._file is not None:
            self._file.close()

    def _add(self, chunk: bytes) -> None:
        self._is_binary = self._is_binary or b"\0" in chunk
        self._lines += chunk.count(b"\n")
        before, self.size = self.size, self.size + len(chunk)
        if self.size <= MEMORY_BYTES:
            self._head += chunk
            return
        if before <= MEMORY_BYTES:
            self._spill()
        self._tail += chunk
        if len(self._tail) > 2 * ENDS_BYTES:
            del self._tail[:-ENDS_BYTES]
        if before < FILE_BYTES:
            self._save(chunk[: FILE_BYTES - before])

    def _spill(self) -> None:
        self._tail[:] = self._head[-ENDS_BYTES:]
        with suppress(OSError):  # the disk is full: head and tail are still useful
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as the capture
        self._save(bytes(self._head))
        del self._head[ENDS_BYTES:]

    def _save(self, chunk: bytes) -> None:
        with suppress(OSError):  # the disk is full: the saved part stays
            if self._file is not None:
                self._file.write(chunk)
