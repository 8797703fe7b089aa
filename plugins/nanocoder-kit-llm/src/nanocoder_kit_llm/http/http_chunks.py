"""Join the HTTP chunks that arrive together: h11 takes 50 microseconds for each.

Most servers send each part of a reply in a chunk of its own. Any other framing is passed to h11
unchanged.
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


class _State(Enum):
    HEAD = auto()
    CHUNKS = auto()
    REST = auto()  # all further bytes pass unchanged


class ChunkJoiner:
    """The bytes of one connection, in which neighbouring chunks of a body become one.

    The output means the same to h11 as the input. Call `restart` before each request.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Expect the head of an answer."""
        self._state = _State.HEAD
        self._head = b""
        self._held = b""  # a chunk size whose line is incomplete
        self._left = 0  # missing bytes of a chunk and its line end

    def feed(self, data: bytes) -> bytes:
        """Return the bytes for h11; b"" while the size of a chunk is incomplete."""
        if self._state is _State.HEAD:
            return self._consume_head(data)
        if self._state is _State.CHUNKS:
            return self._join(data)
        return data

    def finish(self) -> bytes:
        """Return the buffered bytes at the end of the connection."""
        size, self._held = self._held, b""
        return size

    def _consume_head(self, data: bytes) -> bytes:
        before = len(self._head)
        self._head += data
        end = self._head.find(b"\r\n\r\n", max(0, before - len(_END) - 1))
        if end < 0:
            self._state = _State.REST if len(self._head) > _HEAD_BYTES else _State.HEAD
            return data
        head, self._head = self._head[: end + 4], b""
        is_plain = head.startswith(_FINAL_HEAD) and re.search(_CHUNKED, head.lower())
        self._state = _State.CHUNKS if is_plain else _State.REST
        body = len(head) - before
        return data[:body] + (self.feed(data[body:]) if body < len(data) else b"")

    def _join(self, data: bytes) -> bytes:
        ready = [data[: self._left]]
        offset, self._left = min(self._left, len(data)), max(0, self._left - len(data))
        data, self._held = self._held + data[offset:], b""
        pieces: list[bytes] = []
        offset = 0
        while size := _SIZE.match(data, offset):
            start = size.end()
            end = start + int(size[1], 16)
            if end == start or data[end : end + len(_END)] != _END:
                break
            pieces.append(data[start:end])
            offset = end + len(_END)
        joined = b"".join(pieces)
        if joined:
            ready += [b"%x\r\n" % len(joined), joined, _END]
        ready.append(self._rest(data[offset:]))
        return b"".join(ready)

    def _rest(self, data: bytes) -> bytes:
        """Return the bytes for h11 after the last complete chunk; buffer an incomplete size."""
        size = _SIZE.match(data)
        if size is not None and int(size[1], 16):
            missing = size.end() + int(size[1], 16) + len(_END) - len(data)
            if missing > 0:
                self._left = missing
                return data
        if size is None and re.match(_PART_OF_SIZE, data):
            self._held = data
            return b""
        self._state = _State.REST  # the last chunk, or invalid framing that h11 rejects
        return data
