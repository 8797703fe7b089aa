"""What a login at a server gave, kept in a private file of nanocoder's own state.

A file belongs to one address: a server that moves to another one gets nothing of it.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import asdict, field, frozen
from nanocoder import ConfigError, ToolError
from nanocoder_files import open_private, private_directory, replace_file

from nanocoder_mcp.records import path_of
from nanocoder_mcp.server import Server

FORMAT: Final = 1
MAX_BYTES: Final = 1_048_576


@frozen(repr=False)
class Credentials:
    """What one login gave: *tokens*, which expire at *expires_at* (0: nobody knows).

    *client* is what we are registered as, *authorization* and *resource* what the two servers say
    of themselves. *challenge* is what the server last answered in place of a result: the status,
    and the header that says which rights are missing.
    """

    tokens: Mapping[str, Any] = field(factory=dict)
    expires_at: float = 0.0
    client: Mapping[str, Any] = field(factory=dict)
    authorization: Mapping[str, Any] = field(factory=dict)
    resource: Mapping[str, Any] = field(factory=dict)
    challenge: tuple[int, str] | None = None


def read(server: Server) -> Credentials:
    """Return what is kept for *server* at its address, empty credentials if that is nothing."""
    try:
        with os.fdopen(open_private(_path(server)), "rb") as file:
            data = json.loads(file.read(MAX_BYTES))
        if (data.pop("format"), data.pop("url")) != (FORMAT, server.url):
            return Credentials()
        challenge = data.pop("challenge")
        return Credentials(**data, challenge=challenge and (int(challenge[0]), str(challenge[1])))
    except (OSError, ConfigError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Credentials()


def write(server: Server, credentials: Credentials) -> None:
    """Keep *credentials* of *server*; raises ToolError."""
    path = _path(server)
    data = {"format": FORMAT, "url": server.url, **asdict(credentials)}
    try:
        private_directory(path.parent)
        replace_file(path, json.dumps(data).encode())
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}") from error


def forget(server: Server) -> bool:
    """Remove what is kept for *server*; tell whether a login was."""
    was_kept = bool(read(server).tokens)
    with suppress(FileNotFoundError):
        _path(server).unlink()
    return was_kept


def _path(server: Server) -> Path:
    path = path_of(server)
    return path.parent / "logins" / path.name
