"""The bytes of an answer: unpacked, and never more than wanted."""

import zlib
from collections.abc import Iterable
from typing import Final

from nanocoder import ToolError

_WINDOWS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW_DEFLATE: Final = -15


def read_body(chunks: Iterable[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return at most *limit* unpacked bytes, and whether there was more.

    Raises: ToolError (unsupported_encoding, broken_encoding).
    """
    unpack = _unpacker(encoding)
    pieces: list[bytes] = []
    size = 0
    for chunk in chunks:
        piece = unpack.feed(chunk, limit - size + 1)
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            return b"".join(pieces)[:limit], True
    return b"".join(pieces), False


class _Plain:
    def feed(self, chunk: bytes, most: int) -> bytes:
        return chunk[:most]


class _Packed:
    """One layer of gzip or deflate; unpacks no more than it is asked for."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._inflate = zlib.decompressobj(_WINDOWS[encoding])
        self._is_first = True

    def feed(self, chunk: bytes, most: int) -> bytes:
        try:
            return self._inflate.decompress(chunk, most)
        except zlib.error as error:
            if self._encoding == "deflate" and self._is_first:
                # Half of the servers leave out the header that the standard asks for.
                self._inflate = zlib.decompressobj(_RAW_DEFLATE)
                return self._again(chunk, most, error)
            raise _broken(error) from None
        finally:
            self._is_first = False

    def _again(self, chunk: bytes, most: int, first: zlib.error) -> bytes:
        try:
            return self._inflate.decompress(chunk, most)
        except zlib.error:
            raise _broken(first) from None


def _unpacker(encoding: str) -> _Plain | _Packed:
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return _Plain()
    if name in _WINDOWS:
        return _Packed(name)
    raise ToolError(
        f"the answer is packed as {name[:60]!r}, which was not requested",
        error_class="unsupported_encoding",
    )


def _broken(error: zlib.error) -> ToolError:
    return ToolError(f"the answer cannot be unpacked: {error}", error_class="broken_encoding")
