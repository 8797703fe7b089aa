"""The settings of mcp-server."""

from attrs import field
from nanocoder import value


@value
class Settings:
    """The keys of `[plugins.mcp-server]`."""

    tools: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": "The tools for clients; empty: all that need no model and no person.",
            "user_only": True,
        },
    )
    patience_s: float = field(
        default=30.0,
        metadata={
            "description": "How long calls wait for one that asks its client, in seconds.",
            "user_only": True,
            "minimum": 0.1,
        },
    )
