"""What the reference answers, word by word."""

import re
from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import said

Arguments = Mapping[str, Any]

_MERGE_LATER = re.compile(r"\n?^task_result with id a\d+ and merge merges it\.$", re.MULTILINE)


def window(arguments: Arguments, result: ToolResult) -> str:
    """Return the lines with right-aligned numbers under a line that says which they are."""
    lines, first, total = (result.data[key] for key in ("lines", "first", "total"))
    counted = "?" if total is None else total
    if arguments["offset"] or arguments["limit"]:
        head = f"[Lines {first}-{first + len(lines) - 1} of {counted}]"
    else:
        head = f"[{counted} lines]"
    return "\n".join([head, *(f"{number:6}\t{line}" for number, line in enumerate(lines, first))])


def wrote(arguments: Arguments, result: ToolResult) -> str:
    """Say how many bytes a file has."""
    return f"Successfully wrote {result.data['size']} bytes to {arguments['path']}"


def edited(arguments: Arguments, result: ToolResult) -> str:
    """Say that text was replaced, and how it was found if it was not there exactly."""
    about = result.metadata
    how = "" if about["confidence"] == 1.0 else f" (found by {about['strategy']})"
    return f"Successfully replaced text in {arguments['path']}{how}"


def ran(_: Arguments, result: ToolResult) -> str:
    """Return all that is known of a command that has ended."""
    data = result.data
    return "\n".join(
        [
            f"Exit Code: {data['exit_code']}",
            f"Duration: {round(data['duration_s'] * 1000)}ms",
            f"STDOUT:\n{data['stdout'].rstrip() or '(empty)'}",
            f"STDERR:\n{data['stderr'].rstrip() or '(empty)'}",
        ]
    )


def not_run(arguments: Arguments, result: ToolResult) -> str:
    """Answer for a command that failed; one that ended with a status is no error here."""
    if result.error_class == "cancelled":
        return "Error: Command was aborted"
    if result.data is None or "stdout" not in result.data:
        return failed(arguments, result)
    if result.error_class == "timeout":
        head = f"Error: Command timed out after {arguments['timeout']:.0f}ms"
        return f"{head}\n{ran(arguments, result)}"
    return ran(arguments, result)


def files(_: Arguments, result: ToolResult) -> str:
    """Return a numbered list of absolute paths."""
    found, root, about = result.data["files"], result.data["root"].rstrip("/"), result.metadata
    if not found:
        return "No files found"
    lines = [f"{number}. {root}/{path}" for number, path in enumerate(found, 1)]
    if about["retried_as"]:
        lines.insert(0, f"No files found; these match {about['retried_as']}:")
    if about["truncated"]:
        lines.append(f"[{about['count'] - len(found):,} more files]")
    return "\n".join(lines)


def of_agent(_: Arguments, result: ToolResult) -> str:
    """Return what came of a sub-agent; the reference has no tool that merges its patch later."""
    return _MERGE_LATER.sub("", result.output)


def failed(arguments: Arguments, result: ToolResult) -> str:
    """Say what is wrong."""
    return f"Error: {_problem(arguments, result)}"


def _problem(arguments: Arguments, result: ToolResult) -> str:
    path, data = arguments.get("path", ""), result.data or {}
    match result.error_class:
        case "path_outside_workspace" if "root" in data:
            return f"Path must be within working directory: {data['root']}"
        case "file_not_found":
            return f"File not found: {path}"
        case "too_large" if "size" in data:
            return f"File too large: {data['size']} bytes (max: {data['limit']})"
        case "text_not_found":
            return f"Could not find the text to replace in {path}"
        case "several_matches":
            return (
                f"Found multiple occurrences of the text in {path}."
                " Add more of what is around it, so that it is unique"
            )
    return said(result)
