"""The settings of mcp-server."""

from attrs import field, frozen


@frozen(eq=False, repr=False)
class Settings:
    """The keys of `[plugins.mcp-server]`."""

    tools: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": "The tools that clients are offered; empty: all that need nobody else.",
            "user_only": True,
        },
    )
