"""The tool deploy_ticket: Acme's deploy tickets, from a file in the workspace."""

from typing import Annotated, Any

from attrs import frozen
from nanocoder import (
    Effect,
    Param,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    parse_json,
    tool,
)

FIELDS = ("service", "version", "state", "owner")


@frozen
class Settings:
    """The table [plugins.acme-deploy]. *file*: the tickets, a JSON object by number."""

    file: str = "deploy-tickets.json"


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"number": "DEP-7"}],
    short="Look up a deploy ticket.",
)
def deploy_ticket(
    ctx: ToolContext,
    number: Annotated[str, Param("As in DEP-7.", pattern=r"^DEP-\d+$")],
) -> ToolResult:
    """Look up a deploy ticket: service, version, state, owner."""
    settings: Settings = ctx.settings or Settings()
    tickets = _tickets(ctx, settings.file)
    if number not in tickets:
        names = ", ".join(sorted(tickets)[:10]) or "none"
        raise ToolError(f"there is no ticket {number}; there are: {names}", error_class="no_ticket")
    ticket = {name: str(tickets[number].get(name, "unknown")) for name in FIELDS}
    lines = [f"{name}: {value}" for name, value in ticket.items()]
    return ToolResult("\n".join(lines), title=number, data={"number": number, **ticket})


def _tickets(ctx: ToolContext, file: str) -> dict[str, Any]:
    tickets = parse_json(ctx.workspace.read_text(file))
    if not isinstance(tickets, dict) or not all(
        isinstance(ticket, dict) for ticket in tickets.values()
    ):
        raise ToolError(f"{file} is no object of tickets", error_class="bad_tickets")
    return tickets


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.acme-deploy]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer deploy_ticket."""
    return [deploy_ticket]
