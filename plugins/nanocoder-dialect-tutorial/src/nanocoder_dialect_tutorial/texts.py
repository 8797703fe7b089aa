"""What the reference answers, word by word."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import said

MATCHES_OF_A_FILE = 5
SEARCHED_LINES = 10_000  # that match: as many as grep counts; five of each file are shown
SHOWN_CHARS = 10_000
HEAD_CHARS, TAIL_CHARS = 5_000, 2_000
BUFFER_BYTES = 1_048_576

Arguments = Mapping[str, Any]


def lines(_: Arguments, result: ToolResult) -> str:
    """Return the lines with their numbers."""
    numbered = enumerate(result.data["lines"], result.data["first"])
    return "\n".join(f"{number}\t{line}" for number, line in numbered) or result.output


def not_read(arguments: Arguments, result: ToolResult) -> str:
    """Say why a file was not read."""
    return _failed("read", "reading", arguments, result)


def not_written(arguments: Arguments, result: ToolResult) -> str:
    """Say why a file was not written."""
    return _failed("write", "writing", arguments, result)


def _failed(verb: str, doing: str, arguments: Arguments, result: ToolResult) -> str:
    if result.error_class == "path_outside_workspace":
        return f"Error: Cannot {verb} files outside the working directory"
    if "path" not in arguments:
        return f"Error: {said(result)}"
    return f"Error {doing} {arguments['path']}: {said(result)}"


def output(_: Arguments, result: ToolResult) -> str:
    """Return what a command printed, standard output first."""
    text = _printed(result)
    return _shortened(text, result) if text else "(no output)"


def not_run(arguments: Arguments, result: ToolResult) -> str:
    """Say how a command failed, and what it complained about."""
    if result.data is None or "stderr" not in result.data:
        return f"Error: {said(result)}"
    if result.error_class == "timeout":
        head = f"Command timed out after {arguments['timeout']:.0f} ms:"
        return f"{head}\n{_shortened(_printed(result) or '(no output)', result)}"
    if result.error_class != "exit_nonzero":
        return f"Error: {said(result)}"
    complaint = result.data["stderr"] or result.data["stdout"] or "(no output)"
    return f"Command failed (exit code {result.data['exit_code']}):\n" + _shortened(
        complaint, result
    )


def _printed(result: ToolResult) -> str:
    stdout, stderr = result.data["stdout"], result.data["stderr"]
    return f"{stdout}\nSTDERR:\n{stderr}" if stderr else str(stdout)


def _shortened(text: str, result: ToolResult) -> str:
    if len(text) > SHOWN_CHARS:
        text = f"{text[:HEAD_CHARS]}\n... (truncated) ...\n{text[-TAIL_CHARS:]}"
    if result.metadata.get("bytes", 0) > BUFFER_BYTES:
        where = f"; all of it is in {result.artifact}" if result.artifact else ""
        text += f"\n[the command printed more than 1 MB{where}]"
    return text


def matches(arguments: Arguments, result: ToolResult) -> str:
    """Return a line for each match, five of a file at most, and say what was not looked at."""
    wanted = int(arguments["maxResults"])
    found = list(_few_of_each_file(result.data["lines"]))[:wanted]
    if len(found) < wanted and len(result.data["lines"]) >= SEARCHED_LINES:
        # A file with thousands of matches may hide the files behind it.
        found.append("[not everything was searched; narrow it with path or glob]")
    return "\n".join(found) or f"No matches found for pattern: {arguments['pattern']}"


def _few_of_each_file(found: list[dict[str, Any]]) -> Iterator[str]:
    shown: Counter[str] = Counter()
    for line in found:
        shown[line["path"]] += 1
        if shown[line["path"]] <= MATCHES_OF_A_FILE:
            yield f"{line['path']}:{line['line']}: {line['text'].strip()}"
