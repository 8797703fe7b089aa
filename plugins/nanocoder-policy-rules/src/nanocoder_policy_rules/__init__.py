"""Modes and rules: which calls a tool may make, which need a person, which never run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nanocoder import (
    Effect,
    Event,
    PathFilter,
    Request,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolResult,
    Verdict,
    hookimpl,
)

from nanocoder_policy_rules.checked_settings import Settings

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from nanocoder import Command, Host

    from nanocoder_policy_rules.offered import Offered

OFFERED = "offered"
"""The resource that holds the tools which a session's model is offered."""

# Every start imports this module, and many prompts are answered without a call: what judges is
# imported at the first one. Should that fail, the call is denied.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-rules]."""
    return Settings


@hookimpl
def nanocoder_readable(
    tools: "Mapping[str, Tool[..., object]]", session: SessionInfo, settings: Settings | None
) -> PathFilter:
    """Keep secrets, and what a rule keeps from one tool that reads, from all of them."""
    from nanocoder_policy_rules.readable import ReadingRules

    return ReadingRules(session, settings or Settings(), tools)


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings | None
) -> Verdict:
    """Judge a call by its effects, its arguments, the session's mode and the rules."""
    from nanocoder_policy_rules.call_context import CallContext
    from nanocoder_policy_rules.judge import judge

    return judge(CallContext(call, tool, session, settings or Settings()))


@hookimpl
def nanocoder_after_execute(
    result: ToolResult, call: ToolCall, tool: "Tool[..., object]", session: SessionInfo
) -> ToolResult | None:
    """Say what can be asked for, where a command failed because of its sandbox."""
    is_noted = result.is_error or "undone" in result.metadata
    if not is_noted or call.typed or Effect.EXECUTE not in tool.effects or not session.sandbox:
        return None
    from nanocoder_policy_rules.sandbox_hints import with_hint

    return with_hint(result, call, session)


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep the tools that each session offers its model."""

    def open_offered(_session: SessionInfo, _settings: Settings | None) -> "Offered":
        from nanocoder_policy_rules.offered import Offered

        return Offered()

    return [Resource(OFFERED, open_offered)]


@hookimpl
def nanocoder_before_request(
    request: Request,
    session: SessionInfo,
    settings: Settings | None,
    resource: "Callable[[str], Offered]",
) -> Request | None:
    """Leave out the tools that a rule denies whatever their arguments are."""
    if settings is None or not (settings.deny or settings.rules):
        return None
    return resource(OFFERED).reduce(request, session, settings)


@hookimpl(events=["call.approved"])
def nanocoder_event(event: Event, session: SessionInfo) -> None:
    """Save the rules that a person granted for a project or for all of them."""
    if event.data["scope"] in {"project", "user"}:
        from nanocoder_policy_rules.grant_file import save

        save(session, event.data)


@hookimpl
def nanocoder_commands() -> "list[Command[Host]]":
    """Offer the commands that list grants and take them back."""
    from nanocoder import Argument, Command

    output = Argument("--output", "output format", default="text", choices=("text", "json"))
    revoked = (
        Argument("id", "the grant's ID, as `nanocoder grants list` shows it", count="*"),
        Argument("--all", "every grant", kind="flag"),
    )
    return [
        Command("grants", "list and take back what you granted when you were asked"),
        Command("grants list", "every grant, the latest first", _list, (output,)),
        Command("grants revoke", "take grants back", _revoke, revoked, outside_calls=True),
    ]


def _list(arguments: "Namespace", host: "Host") -> int:
    from nanocoder_policy_rules.commands import list_grants

    return list_grants(arguments, host)


def _revoke(arguments: "Namespace", host: "Host") -> int:
    from nanocoder_policy_rules.commands import revoke_grants

    return revoke_grants(arguments, host)
