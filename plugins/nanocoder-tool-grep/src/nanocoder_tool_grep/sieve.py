"""A quick check whether bytes can have a match; it may say yes wrongly, but never no."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

# When case does not count, "k", "s" and "i" equal the kelvin sign, the long s and the Turkish i.
_LOOKALIKES = {"k": ("\u212a",), "s": ("\u017f",), "i": ("\u0130", "\u0131")}
MIN_OVERLAP = 2
"""Bytes of the longest of these less one."""

Sieve = Callable[[bytes | bytearray, int, int], bool]
"""Tells whether the bytes between two positions contain one of the needles."""


def make_sieve(needles: tuple[bytes, ...], *, folds: bool) -> Sieve:
    """Return a sieve for *needles*, in lower case where *folds*; it passes all without any."""
    if not needles:
        return lambda _data, _start, _end: True
    if folds:
        return _make_folding_sieve(needles)
    if len(needles) == 1:
        needle = needles[0]
        return lambda data, start, end: data.find(needle, start, end) >= 0
    return lambda data, start, end: any(data.find(each, start, end) >= 0 for each in needles)


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
    return lambda start, end: any(find(each, start, end) for each in needles)


def make_odd_sieve(needles: tuple[bytes, ...]) -> Sieve:
    """Return a sieve for characters beyond ASCII that stand for a letter of *needles*."""
    letters = {
        letter for letter in _LOOKALIKES if any(letter.encode() in needle for needle in needles)
    }
    lookalikes = [other.encode() for letter in sorted(letters) for other in _LOOKALIKES[letter]]
    # Most text lacks even their first byte, and looking for a single byte is very fast.
    return lambda data, start, end: any(
        data.find(odd[0], start, end) >= 0 and data.find(odd, start, end) >= 0 for odd in lookalikes
    )


def _make_folding_sieve(needles: tuple[bytes, ...]) -> Sieve:
    # A regular expression needs no copy in lower case. Imported by name: it has no types.
    regex: Any = import_module("regex")
    finds = [regex.compile(regex.escape(needle), regex.IGNORECASE).search for needle in needles]
    odd = make_odd_sieve(needles)
    return lambda data, start, end: (
        any(find(data, start, end) for find in finds) or odd(data, start, end)
    )


def _library_find(buffer: bytearray) -> Callable[[bytes, int, int], bool] | None:
    """Return the C library's search, which takes a third of the time for a short needle."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # 3 ms, for processes that read many files

        memmem = ctypes.PyDLL(None).memmem
    except (ImportError, OSError, AttributeError):
        return None
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    view = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    address = ctypes.addressof(view)

    def find(needle: bytes, start: int, end: int) -> bool:
        size = min(end, len(view)) - start  # never beyond the buffer
        return memmem(address + start, size, needle, len(needle)) is not None

    return find
