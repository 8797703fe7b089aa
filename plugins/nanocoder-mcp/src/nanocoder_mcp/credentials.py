"""What a login at a server gave, kept in a private file of nanocoder's own state.

A file belongs to one address: a server that moves to another one gets nothing of it.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import asdict, field, frozen
from nanocoder import ConfigError, UsageError

from nanocoder_mcp.private_files import read_json, write_json
from nanocoder_mcp.records import path_of
from nanocoder_mcp.server import Server

FORMAT: Final = 1
MAX_BYTES: Final = 1_048_576
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@frozen(repr=False)
class Credentials:
    """What one login gave: *tokens*, which expire at *expires_at* (0: unknown).

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
        data = read_json(_path(server), MAX_BYTES, FORMAT)
        if data.pop("url") != server.url:
            return Credentials()
        challenge = data.pop("challenge")
        return Credentials(**data, challenge=challenge and (int(challenge[0]), str(challenge[1])))
    except (OSError, ConfigError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Credentials()


def write(server: Server, credentials: Credentials) -> None:
    """Keep *credentials* of *server*; raises ToolError."""
    write_json(_path(server), {"url": server.url, **asdict(credentials)}, FORMAT)


def forget(server: Server) -> bool:
    """Remove what is kept for *server*; tell whether a login was."""
    was_kept = bool(read(server).tokens)
    with suppress(FileNotFoundError):
        _path(server).unlink()
    return was_kept


def refuse_open_address(server: Server) -> None:
    """Raise UsageError for a server to which no token may be sent."""
    if not server.url:
        raise UsageError(f"{server.name!r} is a command; only a server at an address has a login")
    if any(name.lower() == "authorization" for name in server.headers):
        raise UsageError(f"{server.name!r} has a header Authorization; take it out to log in")
    place = urlsplit(server.url)
    if place.scheme != "https" and place.hostname not in LOOPBACK:
        raise UsageError(f"{server.url} is not https, so others could read the login on its way")


def may_send_tokens(server: Server) -> bool:
    """Tell whether a login of *server* is ours to send."""
    try:
        refuse_open_address(server)
    except UsageError:
        return False
    return True


def _path(server: Server) -> Path:
    path = path_of(server)
    return path.parent / "logins" / path.name
