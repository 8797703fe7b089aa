"""Join the HTTP chunks that arrive together: h11 takes 50 microseconds for each.

Most servers send each piece of a reply in a chunk of its own. Any other
framing is passed on unchanged, and h11 judges it.
"""

import re
from enum import Enum, auto
from typing import Final

_HEAD_BYTES: Final = 64 * 1024
_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,7})\r\n")
_PART_OF_SIZE: Final = rb"[0-9a-fA-F]{0,7}\r?\Z"
_CHUNKED: Final = rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n"
_FINAL_HEAD: Final = tuple(b"HTTP/1.1 %d" % hundreds for hundreds in (2, 3, 4, 5))
_END: Final = b"\r\n"


class _Place(Enum):
    HEAD = auto()
    CHUNKS = auto()
    REST = auto()  # everything stays as it is


class ChunkJoiner:
    """The bytes of one connection, in which neighbouring chunks of a body become one.

    The bytes that h11 reads mean the same as those that came. `restart` precedes each request.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Expect the head of an answer."""
        self._place = _Place.HEAD
        self._head = b""
        self._held = b""  # a size whose line has no end yet
        self._left = 0  # bytes of a chunk and its line end that are still to come

    def feed(self, data: bytes) -> bytes:
        """Return what h11 shall read of *data*; nothing while a chunk's size is incomplete."""
        if self._place is _Place.HEAD:
            return self._take_head(data)
        if self._place is _Place.CHUNKS:
            return self._join(data)
        return data

    def finish(self) -> bytes:
        """Return what was held back when the connection ended."""
        size, self._held = self._held, b""
        return size

    def _take_head(self, data: bytes) -> bytes:
        before = len(self._head)
        self._head += data
        end = self._head.find(b"\r\n\r\n", max(0, before - len(_END) - 1))
        if end < 0:
            self._place = _Place.REST if len(self._head) > _HEAD_BYTES else _Place.HEAD
            return data
        head, self._head = self._head[: end + 4], b""
        is_plain = head.startswith(_FINAL_HEAD) and re.search(_CHUNKED, head.lower())
        self._place = _Place.CHUNKS if is_plain else _Place.REST
        body = len(head) - before
        return data[:body] + (self.feed(data[body:]) if body < len(data) else b"")

    def _join(self, data: bytes) -> bytes:
        ready = [data[: self._left]]
        place, self._left = min(self._left, len(data)), max(0, self._left - len(data))
        data, self._held = self._held + data[place:], b""
        pieces: list[bytes] = []
        place = 0
        while size := _SIZE.match(data, place):
            start = size.end()
            end = start + int(size[1], 16)
            if end == start or data[end : end + len(_END)] != _END:
                break
            pieces.append(data[start:end])
            place = end + len(_END)
        joined = b"".join(pieces)
        if joined:
            ready += [b"%x\r\n" % len(joined), joined, _END]
        ready.append(self._rest(data[place:]))
        return b"".join(ready)

    def _rest(self, data: bytes) -> bytes:
        """Return what follows the last chunk that is there in full."""
        size = _SIZE.match(data)
        if size is not None and int(size[1], 16):
            missing = size.end() + int(size[1], 16) + len(_END) - len(data)
            if missing > 0:
                self._left = missing
                return data
        if size is None and re.match(_PART_OF_SIZE, data):
            self._held = data
            return b""
        self._place = _Place.REST  # the last chunk, or something for h11 to refuse
        return data
