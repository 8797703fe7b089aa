"""Managed defaults: calls that cannot be undone or leave the machine need approval."""

from typing import Any, Final

from attrs import field, frozen
from nanocoder import Decision, Effect, Risk, SessionInfo, Tool, ToolCall, Verdict, hookimpl

SOURCE: Final = "managed defaults"


@frozen
class Settings:
    """The table [plugins.profile-managed-defaults]. A project's file can only switch on."""

    active: bool = field(
        default=False,
        metadata={"tighten": "true", "description": "Whether the profile holds."},
    )
    ask_before_network: bool = field(
        default=True,
        metadata={"tighten": "true", "description": "Ask before a tool reaches the network."},
    )
    ask_before_destruction: bool = field(
        default=True,
        metadata={"tighten": "true", "description": "Ask before what cannot be undone."},
    )
    sandbox_in_auto: bool = field(
        default=True,
        metadata={
            "tighten": "true",
            "description": "In mode auto, ask before a command that runs in no sandbox.",
        },
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the settings."""
    return Settings


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., Any]", session: SessionInfo, settings: Settings | None
) -> Verdict | None:
    """Ask in every mode about calls that a default should not decide."""
    if settings is None or not settings.active or "*" in tool.composed_of:
        return None  # each of its calls is judged separately
    if settings.ask_before_destruction and tool.risk is Risk.DESTRUCTIVE:
        return _ask(f"{call.name} may destroy what cannot be restored", "ask_before_destruction")
    is_program = Effect.EXECUTE in tool.effects
    if settings.ask_before_network and Effect.NETWORK in tool.effects and not is_program:
        return _ask(f"{call.name} reaches the network", "ask_before_network")
    if settings.sandbox_in_auto and is_program and session.mode == "auto" and not session.sandbox:
        return _ask(f"{call.name} would run outside of any sandbox", "sandbox_in_auto")
    return None


def _ask(reason: str, setting: str) -> Verdict:
    source = f"{SOURCE}: {setting} in plugins.profile-managed-defaults"
    return Verdict(Decision.ASK, reason, rule=setting, source=source)
