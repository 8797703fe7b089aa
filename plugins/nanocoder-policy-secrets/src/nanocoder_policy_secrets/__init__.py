"""Keeps secrets from the model: it reads placeholders in their place and cannot write these."""

from collections.abc import Callable
from typing import Any

from attrs import evolve, field
from nanocoder import (
    Decision,
    Effect,
    Request,
    Resource,
    Tool,
    ToolCall,
    ToolResult,
    Verdict,
    for_model,
    hookimpl,
    value,
)
from nanocoder_kit_redact import Redactor, placeholders_in, redact_value

from nanocoder_policy_secrets.conversation import RedactedMessages

CHANGES = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.NETWORK})


@value
class Settings:
    """The table [plugins.policy-secrets].

    *redactor* is no setting: it knows the secrets of the environment.
    """

    results: bool = field(
        default=True,
        metadata={
            "description": "Whether the model reads placeholders in the place of secrets.",
            "user_only": True,
        },
    )
    placeholders: bool = field(
        default=True,
        metadata={
            "description": "Whether a call that would write or run a placeholder is refused.",
            "user_only": True,
        },
    )
    redactor: Redactor = field(factory=Redactor, init=False, repr=False, eq=False)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-secrets]."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the messages of a session as the model may read them, and what redacts messages.

    The command line takes "redactor" for all that it writes to standard error.
    """
    return [
        Resource("messages", lambda _session, settings: RedactedMessages(settings.redactor)),
        Resource("redactor", lambda _session, settings: settings.redactor),
    ]


@hookimpl
def nanocoder_before_request(
    request: Request, settings: Settings, resource: Callable[[str], Any]
) -> Request | None:
    """Take secrets out of prompts, attached text, and what files added to the system prompt."""
    if not settings.results:
        return None
    messages = resource("messages").redacted(request.messages)
    system = settings.redactor.redact(request.system)
    if messages is request.messages and system == request.system:
        return None
    return evolve(request, messages=messages, system=system)


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: Tool[..., Any], settings: Settings
) -> Verdict | None:
    """Refuse a call that would put a placeholder where a secret was."""
    if not settings.placeholders or not tool.effects & CHANGES:
        return None
    placeholders = placeholders_in(call.arguments)
    if not placeholders:
        return None
    return Verdict(
        Decision.DENY,
        f"{placeholders[0]} stands for a value that was hidden from you, and would replace it."
        " Leave the line with it out of the edit, or ask the user to change it",
        rule=f"placeholder {placeholders[0]}",
        source="plugins.policy-secrets.placeholders",
    )


@hookimpl
def nanocoder_after_execute(result: ToolResult, settings: Settings) -> ToolResult | None:
    """Put placeholders in the place of secrets, in the text and in the data of a result."""
    if not settings.results:
        return None
    # Cleaned first: an escape before a token would hide it from the redactor.
    output = settings.redactor.redact(for_model(result.output))
    title = settings.redactor.redact(result.title)
    data = redact_value(result.data, settings.redactor)
    metadata = redact_value(result.metadata, settings.redactor)
    if (output, title) == (result.output, result.title) and data is result.data:
        return None if metadata is result.metadata else evolve(result, metadata=metadata)
    # The core drops the data of a text that changed, unless it is new: this has no secret.
    data = dict(data) if data is result.data and isinstance(data, dict) else data
    return evolve(result, output=output, title=title, data=data, metadata=metadata)


__all__ = ["Settings"]
