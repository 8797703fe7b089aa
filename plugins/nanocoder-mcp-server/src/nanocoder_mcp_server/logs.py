"""What a call says while it runs, as log messages of the level that a client asked for."""

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
    """The levels that clients asked for."""

    def __init__(self) -> None:
        self._levels: dict[str, str] = {}

    def set_level(self, ctx: Any, level: str) -> None:
        """Send the client of *ctx* what is at least as serious as *level*."""
        self._levels[client_of(ctx)] = level

    def wants(self, ctx: Any, level: str) -> bool:
        """Tell whether the client of *ctx* gets messages of *level*."""
        least = self._levels.get(client_of(ctx), DEFAULT)
        return LEVELS.index(level) >= LEVELS.index(least)


def client_of(ctx: Any) -> str:
    """Return what tells the clients over HTTP apart; "" where there is one alone."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get(SESSION, ""))


@contextmanager
def outdated_allowed() -> Iterator[None]:
    """Keep the SDK from warning of what its latest revision drops: clients of today have it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        yield
