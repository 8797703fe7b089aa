"""A dry run: what reads is done; what would change something is shown and not done."""

from collections.abc import Mapping
from typing import Any, Final

from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder.values import Decision, Event, ToolCall, ToolResult, Verdict

NOT_DONE: Final = (
    "Dry run: this was not done; the user is shown what it would do. Nothing has changed, so files"
    " have their old content. Go on with what is left of the task, and call each change once."
)


def is_performed(tool: Tool[..., Any], arguments: Mapping[str, Any]) -> bool:
    """Tell whether a dry run performs a call: it reads, or does nothing but call other tools."""
    if tool.is_read_only:
        return True
    if tool.only_reads is None:
        return ANY_TOOL in tool.composed_of
    try:
        return bool(tool.only_reads(arguments))
    except Exception:  # noqa: BLE001 - a tool that cannot tell may change something
        return False


def foretold(call: ToolCall, verdict: Verdict, preview: str) -> dict[str, str]:
    """Return what a call would do, as the report of a run tells it.

    *approval* is why it would need one, "" where it would not.
    """
    reason = verdict.reason if verdict.decision is Decision.ASK else ""
    return {"id": call.id, "tool": call.name, "preview": preview.rstrip("\n"), "approval": reason}


def shown(row: Mapping[str, str]) -> Event:
    """Return the event that shows a person what a call would do."""
    after = f" after your approval ({row['approval']})" if row["approval"] else ""
    text = f"dry run: {row['tool']} would do this{after}:\n{row['preview']}"
    return Event("notice", {"text": text}, row["id"])


def not_done(call: ToolCall) -> ToolResult:
    """Return the result of a call that is not done."""
    return ToolResult(NOT_DONE, title=call.name, metadata={"dry_run": True})
