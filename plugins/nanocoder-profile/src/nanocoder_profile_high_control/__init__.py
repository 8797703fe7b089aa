"""High control: a tool that does more than read runs only if the settings name it."""

from typing import Any, Final

from attrs import field, frozen
from nanocoder import Decision, Effect, SessionInfo, Tool, ToolCall, Verdict, hookimpl

TABLE: Final = "plugins.profile-high-control"


@frozen
class Settings:
    """The table [plugins.profile-high-control]: the explicit policy.

    Only your own configuration, or a managed one, can name tools: a project cannot widen it.
    """

    active: bool = field(
        default=False,
        metadata={"tighten": "true", "description": "Whether the profile holds."},
    )
    tools: tuple[str, ...] = field(
        default=(),
        metadata={"user_only": True, "description": "The tools that may run at all."},
    )
    persons: int = field(
        default=1,
        metadata={
            "tighten": "max",
            "description": "How many people approve each call that changes something.",
        },
    )
    sandbox: bool = field(
        default=True,
        metadata={"tighten": "true", "description": "Run commands in a sandbox only."},
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the settings."""
    return Settings


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., Any]", session: SessionInfo, settings: Settings | None
) -> Verdict | None:
    """Deny tools that the policy does not name; ask about all others that change something."""
    if settings is None or not settings.active:
        return None
    only_reads = tool.is_read_only and Effect.NETWORK not in tool.effects
    if only_reads or "*" in tool.composed_of:
        return None  # reading is for other policies; a composed call is judged by its steps
    if call.name not in settings.tools:
        reason = f"no policy names the tool {call.name!r}; an administrator can add it to `tools`"
        return Verdict(Decision.DENY, reason, rule="tools", source=f"{TABLE}.tools")
    if session.mode == "auto" and not session.interactive:
        reason = f"{call.name} needs an approval in every mode, and no person is here to give it"
        return Verdict(Decision.DENY, reason, rule="approval", source="high control")
    return Verdict(
        Decision.ASK,
        f"{call.name} changes something, and each change is approved",
        rule="approval",
        source="high control",
        sandbox=settings.sandbox and Effect.EXECUTE in tool.effects,
        persons=settings.persons,
        asks_inside_composed=True,
    )
