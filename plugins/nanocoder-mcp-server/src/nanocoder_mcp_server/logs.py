"""Log messages of running calls, at the level that each client asked for."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from mcp.shared.exceptions import MCPDeprecationWarning

LEVELS: Final = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)
DEFAULT: Final = "info"
SESSION: Final = "mcp-session-id"


class Logs:
    """The log level of each client."""

    def __init__(self) -> None:
        self._levels: dict[str, str] = {}

    def set_level(self, ctx: Any, level: str) -> None:
        """Set *level* as the least level of messages for the client of *ctx*."""
        self._levels[client_of(ctx)] = level

    def wants(self, ctx: Any, level: str) -> bool:
        """Return True if the client of *ctx* gets messages of *level*."""
        least = self._levels.get(client_of(ctx), DEFAULT)
        return LEVELS.index(level) >= LEVELS.index(least)


def client_of(ctx: Any) -> str:
    """Return the session id of a client over HTTP, or "" on standard streams."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get(SESSION, ""))


@contextmanager
def outdated_allowed() -> Iterator[None]:
    """Suppress the SDK's warnings about deprecated features that current clients use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        yield
