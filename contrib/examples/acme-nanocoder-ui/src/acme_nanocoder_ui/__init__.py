"""The display of deploy tickets for Acme's staff, and notes on them for the model."""

from nanocoder import ToolCall, ToolResult, hookimpl

TOOL = "deploy_ticket"
STATES = {"waiting": "waits for its window", "running": "is rolling out", "done": "is live"}


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None) -> str | None:
    """Show a ticket as one sentence; leave everything else to others."""
    if call.name != TOOL:
        return None
    number = call.arguments.get("number", "a ticket")
    if result is None:
        return f"look up {number}"
    if result.is_error or not isinstance(result.data, dict):
        return f"{number}: {result.output}"
    ticket = result.data
    state = STATES.get(ticket.get("state", ""), f"is {ticket.get('state')}")
    return (
        f"{number}: {ticket.get('service')} {ticket.get('version')} {state} ({ticket.get('owner')})"
    )


@hookimpl
def nanocoder_prompt() -> str:
    """Tell the model how Acme talks of deploys."""
    return "Acme: name the deploy ticket (DEP-…) when you talk of a deploy; look it up first."
