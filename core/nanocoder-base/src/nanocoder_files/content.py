"""Read a file's content up to a limit, and compute its digest."""

MAX_BYTES = 50_000_000
"""The largest file that is read in one piece; of a larger one only the size is known."""


def digest(*pieces: bytes | memoryview) -> str:
    """Return the SHA-256 of *pieces*, concatenated, in hexadecimal."""
    from hashlib import sha256  # loads OpenSSL in 5 ms, which a start does not need

    hasher = sha256()
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest()


def read_up_to(fd: int, size: int, limit: int) -> bytes | None:
    """Return the content of *fd*; None if it has more than *limit* bytes.

    *size* is from its status; the file may grow or shrink meanwhile.
    """
    if size > limit:
        return None
    with open(fd, "rb", buffering=0, closefd=False) as file:
        data = file.readall()
    return data if len(data) <= limit else None
