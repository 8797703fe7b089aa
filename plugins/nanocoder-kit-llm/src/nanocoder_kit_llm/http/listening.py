"""Detection of a server on this machine."""

import socket
from typing import Final
from urllib.parse import urlsplit

LOOK_S: Final = 0.2
"""Timeout of the search for a server without a configured address, in seconds."""


def is_listening(address: str) -> bool:
    """Return True if something listens at the URL *address*, without asking it anything."""
    parts = urlsplit(address)
    try:
        with socket.create_connection((parts.hostname, parts.port), LOOK_S):
            return True
    except OSError:
        return False
