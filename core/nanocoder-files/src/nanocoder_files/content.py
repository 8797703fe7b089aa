"""The content of files: read to a limit, and its digest."""

import os

MAX_BYTES = 50_000_000
"""The largest file that is read in one piece; a larger one is known by its size alone."""


def digest(*pieces: bytes | memoryview) -> str:
    """Return the SHA-256 of *pieces*, one after the other, in hexadecimal."""
    from hashlib import sha256  # loads OpenSSL, 5 ms that a start need not wait for

    hasher = sha256()
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest()


def read_up_to(fd: int, size: int, limit: int) -> bytes | None:
    """Read all of *fd*, most often in one go; None when there is more than *limit*.

    *size* is what its status says; it may be read while it grows.
    """
    if size > limit:
        return None
    data = os.read(fd, size + 1)
    if len(data) == size:
        return data
    # Longer: it grows. Shorter: a part, or it was cut meanwhile.
    while len(data) <= limit:
        more = os.read(fd, min(1 << 20, limit + 1 - len(data)))
        if not more:
            return data
        data += more
    return None
