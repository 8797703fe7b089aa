"""Credentials from a login at a server, in a private file of nanocoder's own state.

A file is bound to one URL: a server that moves to another URL gets no tokens from it.
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
    """Credentials from one login: *tokens*, which expire at *expires_at* (Unix time; 0: unknown).

    *client* is our registration; *authorization* and *resource* are the metadata of the two
    servers. *challenge* is the last refusal: the HTTP status, and the header that names the
    missing scopes.
    """

    tokens: Mapping[str, Any] = field(factory=dict)
    expires_at: float = 0.0
    client: Mapping[str, Any] = field(factory=dict)
    authorization: Mapping[str, Any] = field(factory=dict)
    resource: Mapping[str, Any] = field(factory=dict)
    challenge: tuple[int, str] | None = None


def read(server: Server) -> Credentials:
    """Return the stored credentials of *server* at its URL, or empty ones."""
    try:
        data = read_json(_path(server), MAX_BYTES, FORMAT)
        if data.pop("url") != server.url:
            return Credentials()
        challenge = data.pop("challenge")
        return Credentials(**data, challenge=challenge and (int(challenge[0]), str(challenge[1])))
    except (OSError, ConfigError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Credentials()


def write(server: Server, credentials: Credentials) -> None:
    """Store *credentials* of *server*; raises ToolError."""
    write_json(_path(server), {"url": server.url, **asdict(credentials)}, FORMAT)


def forget(server: Server) -> bool:
    """Delete the credentials of *server*; tell whether it had a login."""
    had_login = bool(read(server).tokens)
    with suppress(FileNotFoundError):
        _path(server).unlink()
    return had_login


def refuse_open_address(server: Server) -> None:
    """Raise UsageError for a server to which no token may be sent."""
    if not server.url:
        raise UsageError(f"{server.name!r} is a command; only a server at an address has a login")
    if any(name.lower() == "authorization" for name in server.headers):
        raise UsageError(f"{server.name!r} has a header Authorization; remove it to log in")
    url = urlsplit(server.url)
    if url.scheme != "https" and url.hostname not in LOOPBACK:
        raise UsageError(f"{server.url} is not https, so others could read the login on its way")


def may_send_tokens(server: Server) -> bool:
    """Return True if a login of *server* is ours to send."""
    try:
        refuse_open_address(server)
    except UsageError:
        return False
    return True


def _path(server: Server) -> Path:
    path = path_of(server)
    return path.parent / "logins" / path.name
