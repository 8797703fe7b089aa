"""Whether bytes can have a match at all: a quick answer, and sometimes wrongly yes."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

# In any case "k", "s" and "i" also stand for the sign for kelvin, the long s and the Turkish i.
_ALSO = {"k": ("\u212a",), "s": ("\u017f",), "i": ("\u0130", "\u0131")}
MIN_OVERLAP = 2
"""Bytes of the longest of these less one."""

Sieve = Callable[[bytes | bytearray, int, int], bool]
"""Tells of the bytes from one position to another whether one of the needles is in them."""


def make_sieve(needles: tuple[bytes, ...], *, folds: bool) -> Sieve:
    """Return a sieve for *needles*, in lower case where *folds*; it passes all without any."""
    if not needles:
        return lambda _data, _start, _end: True
    if folds:
        return _folding(needles)
    if len(needles) == 1:
        needle = needles[0]
        return lambda data, start, end: data.find(needle, start, end) >= 0
    return lambda data, start, end: any(data.find(one, start, end) >= 0 for one in needles)


def make_fixed_sieve(
    needles: tuple[bytes, ...], buffer: bytearray, *, folds: bool
) -> Callable[[int, int], bool]:
    """Return a sieve for one *buffer*, which may never change its length."""
    find = _library_find(buffer) if needles and not folds else None
    if find is None:
        sieve = make_sieve(needles, folds=folds)
        return lambda start, end: sieve(buffer, start, end)
    if len(needles) == 1:
        needle = needles[0]
        return lambda start, end: find(needle, start, end)
    return lambda start, end: any(find(one, start, end) for one in needles)


def make_odd_sieve(needles: tuple[bytes, ...]) -> Sieve:
    """Return a sieve for characters beyond ASCII that stand for a letter of *needles*."""
    letters = {letter for letter in _ALSO if any(letter.encode() in one for one in needles)}
    also = [other.encode() for letter in sorted(letters) for other in _ALSO[letter]]
    # Most text has not even their first byte, and one byte is found in no time.
    return lambda data, start, end: any(
        data.find(one[0], start, end) >= 0 and data.find(one, start, end) >= 0 for one in also
    )


def _folding(needles: tuple[bytes, ...]) -> Sieve:
    # Without a copy in lower case; it comes without types.
    regex: Any = import_module("regex")
    finds = [regex.compile(regex.escape(one), regex.IGNORECASE).search for one in needles]
    odd = make_odd_sieve(needles)
    return lambda data, start, end: (
        any(find(data, start, end) for find in finds) or odd(data, start, end)
    )


def _library_find(buffer: bytearray) -> Callable[[bytes, int, int], bool] | None:
    """Return the search of the C library, which for a short needle takes a third of the time."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # 3 ms, for processes that read many files

        memmem = ctypes.PyDLL(None).memmem
    except (ImportError, OSError, AttributeError):
        return None
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    held = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    address = ctypes.addressof(held)

    def find(needle: bytes, start: int, end: int) -> bool:
        size = min(end, len(held)) - start  # never beyond the buffer
        return memmem(address + start, size, needle, len(needle)) is not None

    return find
