"""Validation of pictures by their structure, without decoding pixels.

A vendor rejects a request with a broken picture, and so every later one of the session.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final

_SIZES: Final = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # the segments with width and height
_SCAN: Final = 0xDA
_GIF_TABLE: Final = 0x80
_FRAMES: Final = (b"VP8 ", b"VP8L", b"ANMF")


class _Broken(Exception):
    pass


def picture_problem(data: bytes, media_type: str) -> str:
    """Return the reason *data* is no valid picture of *media_type*, "" if it is, or is none."""
    check = _CHECKS.get(media_type)
    if check is None:
        return ""
    kind = media_type.partition("/")[2].upper()
    try:
        check(data)
    except _Broken as problem:
        return f"it is no valid {kind}: {problem}"
    except (struct.error, IndexError):
        return f"it is no valid {kind}: it is cut short"
    return ""


def _check_png(data: bytes) -> None:
    _require(data.startswith(b"\x89PNG\r\n\x1a\n"), "it begins otherwise")
    kinds = list(_png_chunks(data))
    width, height = struct.unpack_from(">II", data, 16)
    _require(kinds[0] == b"IHDR" and width and height, "it has no size")
    _require(b"IDAT" in kinds, "it has no pixels")


def _png_chunks(data: bytes) -> Iterator[bytes]:
    at, kind = 8, b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, at)
        # Decoders accept chunks with a wrong checksum, so only its presence is checked.
        struct.unpack_from(">I", data, at + 8 + length)
        yield kind
        at += 12 + length


def _check_jpeg(data: bytes) -> None:
    _require(data.startswith(b"\xff\xd8\xff"), "it begins otherwise")
    at, marker, has_size = 2, 0, False
    while marker != _SCAN:
        _require(data[at] == 0xFF, f"byte {at} begins no segment")  # noqa: PLR2004
        while data[at + 1] == 0xFF:  # noqa: PLR2004 - any number of these may come first
            at += 1
        marker, (length,) = data[at + 1], struct.unpack_from(">H", data, at + 2)
        if marker in _SIZES:
            (width,) = struct.unpack_from(">H", data, at + 7)  # the height may come later
            has_size = width > 0
        at += 2 + length
    _require(has_size, "it has no size")
    _require(data.find(b"\xff\xd9", at) > at, "it is cut short")


def _check_gif(data: bytes) -> None:
    _require(data.startswith((b"GIF87a", b"GIF89a")), "it begins otherwise")
    at = 13 + _table_bytes(data[10])
    while data[at] == 0x21:  # noqa: PLR2004 - an extension, of two bytes and blocks
        at = _end_of_blocks(data, at + 2)
    _require(data[at] == 0x2C, "it has no pixels")  # noqa: PLR2004
    _end_of_blocks(data, at + 11 + _table_bytes(data[at + 9]))


def _table_bytes(flags: int) -> int:
    return 3 * 2 ** (flags % 8 + 1) if flags & _GIF_TABLE else 0


def _end_of_blocks(data: bytes, at: int) -> int:
    while size := data[at]:
        at += 1 + size
    return at + 1


def _check_webp(data: bytes) -> None:
    _require(data[:4] == b"RIFF" and data[8:12] == b"WEBP", "it begins otherwise")
    (size,) = struct.unpack_from("<I", data, 4)
    _require(8 + size <= len(data), "it is cut short")
    at, kind = 12, b""
    while kind not in _FRAMES:
        _require(at < 8 + size, "it has no pixels")
        kind, length = struct.unpack_from("<4sI", data, at)
        at += 8 + length + length % 2
    _require(length > 0 and at <= len(data) + 1, "it is cut short")


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise _Broken(problem)


_CHECKS: Final[Mapping[str, Callable[[bytes], None]]] = {
    "image/png": _check_png,
    "image/jpeg": _check_jpeg,
    "image/gif": _check_gif,
    "image/webp": _check_webp,
}
