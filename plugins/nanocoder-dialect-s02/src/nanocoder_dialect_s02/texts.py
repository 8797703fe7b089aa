"""What the reference answers, word by word."""

from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import cut, said

SHOWN_CHARS = 50_000
TIMEOUT_S = 120
MARK = "\n... (cut)"

Arguments = Mapping[str, Any]


def content(_: Arguments, result: ToolResult) -> str:
    """Return the lines without numbers, and how many are left out."""
    lines, total = result.data["lines"], result.data["total"]
    shown = list(lines)
    if total is None:  # a large file, whose lines nobody counted
        shown.append("... (more lines)")
    elif total > len(lines):
        shown.append(f"... ({total - len(lines)} more lines)")
    return cut("\n".join(shown), SHOWN_CHARS, MARK) or result.output


def wrote(arguments: Arguments, result: ToolResult) -> str:
    """Say how many bytes a file has."""
    return f"Wrote {result.data['size']} bytes to {arguments['path']}"


def edited(arguments: Arguments, result: ToolResult) -> str:
    """Say that a file was edited, and how if the text was not there exactly."""
    confidence = result.metadata.get("confidence", 1.0)
    how = "" if confidence == 1.0 else f" (found by {result.metadata['strategy']})"
    return f"Edited {arguments['path']}{how}"


def output(_: Arguments, result: ToolResult) -> str:
    """Return what a command printed on both streams."""
    joined = f"{result.data['stdout']}{result.data['stderr']}".strip()
    return cut(joined, SHOWN_CHARS, MARK) or "(no output)"


def not_run(arguments: Arguments, result: ToolResult) -> str:
    """Answer for a command that failed: it says itself what is wrong."""
    if result.error_class == "timeout":
        # Settings may allow less than the reference does.
        took = (result.data or {}).get("duration_s", TIMEOUT_S)
        return f"Error: Timeout ({min(TIMEOUT_S, round(took))}s)"
    if result.error_class == "exit_nonzero" and result.data is not None:
        return output(arguments, result)
    return failed(arguments, result)


def failed(arguments: Arguments, result: ToolResult) -> str:
    """Say what is wrong."""
    if result.error_class == "path_outside_workspace":
        return f"Error: Path escapes workspace: {arguments['path']}"
    return f"Error: {said(result)}"


def not_edited(arguments: Arguments, result: ToolResult) -> str:
    """Say why a file was not edited."""
    if result.error_class == "text_not_found":
        return f"Error: Text not found in {arguments['path']}"
    if result.error_class == "several_matches":
        count = result.data["count"]
        where = f"Text found {count} times in {arguments['path']}"
        return f"Error: {where}; give more of what is around it"
    return failed(arguments, result)
