"""The answers of the reference, word for word."""

from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import cut, error_text

SHOWN_CHARS = 50_000
TIMEOUT_S = 120
MARK = "\n... (cut)"

Arguments = Mapping[str, Any]


def show_lines(_: Arguments, result: ToolResult) -> str:
    """Return the lines without numbers, and how many are left out."""
    lines, total = result.data["lines"], result.data["total"]
    texts = list(lines)
    if total is None:  # the lines of a large file are not counted
        texts.append("... (more lines)")
    elif total > len(lines):
        texts.append(f"... ({total - len(lines)} more lines)")
    return cut("\n".join(texts), SHOWN_CHARS, MARK) or result.output


def describe_write(arguments: Arguments, result: ToolResult) -> str:
    """Return the message with the number of bytes written."""
    return f"Wrote {result.data['size']} bytes to {arguments['path']}"


def describe_edit(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for an edit, with the strategy if the match was not exact."""
    confidence = result.metadata.get("confidence", 1.0)
    how = "" if confidence == 1.0 else f" (found by {result.metadata['strategy']})"
    return f"Edited {arguments['path']}{how}"


def show_output(_: Arguments, result: ToolResult) -> str:
    """Return the output of a command on both streams."""
    joined = f"{result.data['stdout']}{result.data['stderr']}".strip()
    return cut(joined, SHOWN_CHARS, MARK) or "(no output)"


def describe_failed_command(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for a failed command, which is its own output."""
    if result.error_class == "timeout":
        # Settings may allow less than the reference does.
        took = (result.data or {}).get("duration_s", TIMEOUT_S)
        return f"Error: Timeout ({min(TIMEOUT_S, round(took))}s)"
    if result.error_class == "exit_nonzero" and result.data is not None:
        return show_output(arguments, result)
    return describe_failure(arguments, result)


def describe_failure(arguments: Arguments, result: ToolResult) -> str:
    """Return the error message."""
    if result.error_class == "path_outside_workspace":
        return f"Error: Path escapes workspace: {arguments['path']}"
    return f"Error: {error_text(result)}"


def describe_failed_edit(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for a failed edit."""
    if result.error_class == "text_not_found":
        return f"Error: Text not found in {arguments['path']}"
    if result.error_class == "several_matches":
        count = result.data["count"]
        where = f"Text found {count} times in {arguments['path']}"
        return f"Error: {where}; give more of what is around it"
    return describe_failure(arguments, result)
