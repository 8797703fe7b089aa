"""The content of files: read to a limit, and its digest."""

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
    """Return all of *fd*; None when there is more than *limit*.

    *size* is what its status says; it may grow or be cut meanwhile.
    """
    if size > limit:
        return None
    with open(fd, "rb", buffering=0, closefd=False) as file:
        data = file.readall()
    return data if len(data) <= limit else None
