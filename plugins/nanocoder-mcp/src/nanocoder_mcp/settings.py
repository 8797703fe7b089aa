"""The settings of mcp."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import field
from nanocoder import value

from nanocoder_mcp.project_file import review_of
from nanocoder_mcp.server import server_of
from nanocoder_mcp.states import checks_of


@value
class Settings:
    """The keys of `[plugins.mcp]`; raises ValueError for an invalid server.

    The types are plain, so that a start does not import the validation of others.
    """

    servers: dict[str, Any] = field(
        factory=dict,
        metadata={
            "description": "Your servers by name, each with a command or a url.",
            "user_only": True,
            "secret": True,
        },
    )
    project_servers: bool = field(
        default=True,
        metadata={
            "description": "Offer the servers of a trusted folder's .mcp.json, once reviewed.",
            "user_only": True,
        },
    )
    start_timeout_s: float = field(
        default=30.0,
        metadata={
            "description": "How long a server may take to start, in seconds.",
            "user_only": True,
            "minimum": 1,
        },
    )

    def __attrs_post_init__(self) -> None:
        for name, table in self.servers.items():
            server_of(name, table)

    @staticmethod
    def project_review(folder: Path) -> tuple[list[str], Callable[[], None]] | None:
        """Return the review text of `.mcp.json` in *folder*, and the function that accepts it.

        Returns None if there is no such file, or if it was accepted as it is.
        """
        return review_of(folder)

    def checks(self, trusted_folder: Path | None) -> Iterator[tuple[str, str, str]]:
        """Yield a row of `nanocoder doctor` for each server: its name, its status and why."""
        return checks_of(self, trusted_folder)
