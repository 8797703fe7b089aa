"""The answers of the reference, word for word."""

import re
from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import error_text

Arguments = Mapping[str, Any]

_MERGE_LATER = re.compile(r"\n?^task_result with id a\d+ and merge merges it\.$", re.MULTILINE)


def number_lines(arguments: Arguments, result: ToolResult) -> str:
    """Return the lines with right-aligned numbers under a heading with their range."""
    lines, first, total = (result.data[key] for key in ("lines", "first", "total"))
    counted = "?" if total is None else total
    if arguments["offset"] or arguments["limit"]:
        head = f"[Lines {first}-{first + len(lines) - 1} of {counted}]"
    else:
        head = f"[{counted} lines]"
    return "\n".join([head, *(f"{number:6}\t{line}" for number, line in enumerate(lines, first))])


def describe_write(arguments: Arguments, result: ToolResult) -> str:
    """Return the message with the number of bytes written."""
    return f"Successfully wrote {result.data['size']} bytes to {arguments['path']}"


def describe_edit(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for an edit, with the strategy if the match was not exact."""
    metadata = result.metadata
    how = "" if metadata["confidence"] == 1.0 else f" (found by {metadata['strategy']})"
    return f"Successfully replaced text in {arguments['path']}{how}"


def describe_command(_: Arguments, result: ToolResult) -> str:
    """Return status, duration and output of a finished command."""
    data = result.data
    return "\n".join(
        [
            f"Exit Code: {data['exit_code']}",
            f"Duration: {round(data['duration_s'] * 1000)}ms",
            f"STDOUT:\n{data['stdout'].rstrip() or '(empty)'}",
            f"STDERR:\n{data['stderr'].rstrip() or '(empty)'}",
        ]
    )


def describe_failed_command(arguments: Arguments, result: ToolResult) -> str:
    """Describe a failed command; for the reference an exit status other than 0 is no error."""
    if result.error_class == "cancelled":
        return "Error: Command was aborted"
    if result.data is None or "stdout" not in result.data:
        return describe_failure(arguments, result)
    if result.error_class == "timeout":
        head = f"Error: Command timed out after {arguments['timeout']:.0f}ms"
        return f"{head}\n{describe_command(arguments, result)}"
    return describe_command(arguments, result)


def list_files(_: Arguments, result: ToolResult) -> str:
    """Return a numbered list of absolute paths."""
    files, root, metadata = result.data["files"], result.data["root"].rstrip("/"), result.metadata
    if not files:
        return "No files found"
    lines = [f"{number}. {root}/{path}" for number, path in enumerate(files, 1)]
    if metadata["retried_as"]:
        lines.insert(0, f"No files found; these match {metadata['retried_as']}:")
    if metadata["truncated"]:
        lines.append(f"[{metadata['count'] - len(files):,} more files]")
    return "\n".join(lines)


def drop_merge_advice(_: Arguments, result: ToolResult) -> str:
    """Return a sub-agent's result without advice on merging later, which this dialect lacks."""
    return _MERGE_LATER.sub("", result.output)


def describe_failure(arguments: Arguments, result: ToolResult) -> str:
    """Return the error message."""
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
    return error_text(result)
