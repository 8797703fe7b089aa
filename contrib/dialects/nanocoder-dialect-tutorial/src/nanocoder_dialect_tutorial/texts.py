"""The answers of the reference, word for word."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import error_text

MATCHES_OF_A_FILE = 5
SEARCHED_LINES = 10_000  # matching lines, as many as grep counts; five of each file are shown
SHOWN_CHARS = 10_000
HEAD_CHARS, TAIL_CHARS = 5_000, 2_000
BUFFER_BYTES = 1_048_576

Arguments = Mapping[str, Any]


def number_lines(_: Arguments, result: ToolResult) -> str:
    """Return the lines with their numbers."""
    numbered = enumerate(result.data["lines"], result.data["first"])
    return "\n".join(f"{number}\t{line}" for number, line in numbered) or result.output


def describe_failed_read(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for a failed read."""
    return _describe_failure("read", "reading", arguments, result)


def show_diff(_: Arguments, result: ToolResult) -> str:
    """Return the tool's output, and the diff of a file that existed."""
    diff = result.metadata.get("diff")
    if not diff:
        return result.output
    return f"File updated: {result.metadata['path']}\n\nDiff:\n{diff}"


def describe_failed_write(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for a failed write."""
    return _describe_failure("write", "writing", arguments, result)


def _describe_failure(verb: str, doing: str, arguments: Arguments, result: ToolResult) -> str:
    if result.error_class == "path_outside_workspace":
        return f"Error: Cannot {verb} files outside the working directory"
    if "path" not in arguments:
        return f"Error: {error_text(result)}"
    return f"Error {doing} {arguments['path']}: {error_text(result)}"


def show_output(_: Arguments, result: ToolResult) -> str:
    """Return the output of a command, standard output first."""
    text = _join_streams(result)
    return _shorten(text, result) if text else "(no output)"


def describe_failed_command(arguments: Arguments, result: ToolResult) -> str:
    """Return the message for a failed command, with its error output."""
    if result.data is None or "stderr" not in result.data:
        return f"Error: {error_text(result)}"
    if result.error_class == "timeout":
        head = f"Command timed out after {arguments['timeout']:.0f} ms:"
        return f"{head}\n{_shorten(_join_streams(result) or '(no output)', result)}"
    if result.error_class != "exit_nonzero":
        return f"Error: {error_text(result)}"
    complaint = result.data["stderr"] or result.data["stdout"] or "(no output)"
    return f"Command failed (exit code {result.data['exit_code']}):\n" + _shorten(complaint, result)


def _join_streams(result: ToolResult) -> str:
    stdout, stderr = result.data["stdout"], result.data["stderr"]
    return f"{stdout}\nSTDERR:\n{stderr}" if stderr else str(stdout)


def _shorten(text: str, result: ToolResult) -> str:
    if len(text) > SHOWN_CHARS:
        text = f"{text[:HEAD_CHARS]}\n... (truncated) ...\n{text[-TAIL_CHARS:]}"
    if result.metadata.get("bytes", 0) > BUFFER_BYTES:
        where = f"; all of it is in {result.artifact}" if result.artifact else ""
        text += f"\n[the command printed more than 1 MB{where}]"
    return text


def list_matches(arguments: Arguments, result: ToolResult) -> str:
    """Return a line for each match, at most five of a file, and a note on a cut search."""
    limit = int(arguments["maxResults"])
    lines = list(_first_of_each_file(result.data["lines"]))[:limit]
    if len(lines) < limit and len(result.data["lines"]) >= SEARCHED_LINES:
        # A file with thousands of matches may hide the files after it.
        lines.append("[not everything was searched; narrow it with path or glob]")
    return "\n".join(lines) or f"No matches found for pattern: {arguments['pattern']}"


def _first_of_each_file(matches: list[dict[str, Any]]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for line in matches:
        counts[line["path"]] += 1
        if counts[line["path"]] <= MATCHES_OF_A_FILE:
            yield f"{line['path']}:{line['line']}: {line['text'].strip()}"
