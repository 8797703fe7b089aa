"""Modes and rules: which calls a tool may make, which need a person, which never run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve
from nanocoder import (
    Argument,
    Command,
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

from nanocoder_policy_rules.offered import Offered
from nanocoder_policy_rules.redaction import RedactedMessages, deny_placeholder, redacted_result
from nanocoder_policy_rules.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanocoder import Host

OFFERED = "offered"
"""The resource that holds the tools which a session's model is offered."""
MESSAGES = "messages"
"""The resource that holds the messages of a session as the model may read them."""

# Every start imports this module, and many prompts are answered without a call: what judges is
# imported at the first one. Should that fail, the call is denied.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-rules]."""
    return Settings


@hookimpl
def nanocoder_readable(
    tools: "Mapping[str, Tool[..., object]]", session: SessionInfo, settings: Settings
) -> PathFilter:
    """Keep secrets, ignored files, and what a rule keeps from one reader, from all of them."""
    from nanocoder_policy_rules.readable import FileRules

    return FileRules(session, settings, tools)


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings
) -> Verdict:
    """Judge a call by its effects, its arguments, the session's mode and the rules."""
    from nanocoder_policy_rules.judge import judge

    if settings.refuse_placeholders and (denial := deny_placeholder(call, tool)):
        return denial
    return judge(call, tool, session, settings)


@hookimpl
def nanocoder_after_execute(
    result: ToolResult,
    call: ToolCall,
    tool: "Tool[..., object]",
    session: SessionInfo,
    settings: Settings,
) -> ToolResult | None:
    """Put placeholders in the place of secrets, and say what a sandbox has refused."""
    latest = redacted_result(result, settings.redactor) if settings.redact_results else result
    if Effect.EXECUTE in tool.effects and not call.typed and session.sandbox:
        from nanocoder_policy_rules.sandbox_hints import with_hint

        latest = with_hint(latest, call, session)
    return None if latest is result else latest


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep the tools that each session offers its model, and its messages without secrets.

    The command line takes "redactor" for all that it writes to standard error.
    """
    return [
        Resource(OFFERED, lambda _session, _settings: Offered()),
        Resource(MESSAGES, lambda _session, settings: RedactedMessages(settings.redactor)),
        Resource("redactor", lambda _session, settings: settings.redactor),
    ]


@hookimpl
def nanocoder_before_request(
    request: Request,
    session: SessionInfo,
    settings: Settings,
    resource: "Callable[[str], Any]",
) -> Request | None:
    """Leave out secrets, and the tools that a rule denies whatever their arguments are."""
    before = request
    if settings.redact_results:
        messages = resource(MESSAGES).redacted(request.messages)
        system = settings.redactor.redact(request.system)
        if messages is not request.messages or system != request.system:
            request = evolve(request, messages=messages, system=system)
    request = resource(OFFERED).reduce(request, session, settings)
    return None if request is before else request


@hookimpl(events=["call.approved"])
def nanocoder_event(event: Event, session: SessionInfo) -> None:
    """Save the rules that a person granted for a project or for all of them."""
    if event.data["scope"] in {"project", "user"}:
        from nanocoder_policy_rules.grant_file import save

        save(session, event.data)


@hookimpl
def nanocoder_commands() -> "list[Command[Host]]":
    """Offer the commands that list grants and take them back."""
    from nanocoder_policy_rules.grant_file import list_grants, revoke_grants

    output = Argument("--output", "output format", default="text", choices=("text", "json"))
    revoked = (
        Argument("id", "the grant's ID, as `nanocoder grants list` shows it", count="*"),
        Argument("--all", "every grant", kind="flag"),
    )
    return [
        Command("grants", "list and take back what you granted when you were asked"),
        Command("grants list", "every grant, the latest first", list_grants, (output,)),
        Command("grants revoke", "take grants back", revoke_grants, revoked, outside_calls=True),
    ]
