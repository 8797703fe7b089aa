"""The answers of the reference, where they differ from those of the tools."""

import re
from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import cut, error_text

SHOWN_CHARS = 50_000
MARK = "\n[... output truncated]"
# Only whole lines of ours match, since the text around them comes from a sub-agent.
_READ_WITH = re.compile(
    r"^(|You are told when one has finished; |\[a\d+ has finished: .*; )task_result"
    r"( reads its answer[.\]]| with id a\d+ and merge merges it\.)$",
    re.MULTILINE,
)

Arguments = Mapping[str, Any]


def number_lines(_: Arguments, result: ToolResult) -> str:
    """Return the lines as `cat -n` writes them, and which of them these are."""
    lines, first = result.data["lines"], result.data["first"]
    numbered = [f"{number:6}\t{line}" for number, line in enumerate(lines, first)]
    if result.metadata["truncated"]:
        total = result.data["total"]
        of = "" if total is None else f" of {total}"
        numbered.append(f"[lines {first}-{first + len(lines) - 1}{of}]")
    return "\n".join(numbered) or result.output


def describe_edit(_: Arguments, result: ToolResult) -> str:
    """Return the message with the matching strategy, and the diff."""
    metadata = result.metadata
    count = metadata["replacements"]
    how = f"strategy {metadata['strategy']}, confidence {metadata['confidence']:.2f}"
    replacements = "1 replacement" if count == 1 else f"{count} replacements"
    return f"Edited {metadata['path']}: {replacements} ({how})\n{metadata['diff']}"


def list_matches(_: Arguments, result: ToolResult) -> str:
    """Return the matches without advice about an offset, which is no argument of this dialect."""
    head, *lines = result.output.split("\n")
    return "\n".join([re.sub(r", continue with offset \d+:$", ":", head), *lines])


def show_output(_: Arguments, result: ToolResult) -> str:
    """Return the output of a command, standard output first."""
    return _join_output(result, "") or "(no output)"


def describe_failed_command(arguments: Arguments, result: ToolResult) -> str:
    """Return the output of a failed command, and its exit code or timeout."""
    if result.data is None or "stdout" not in result.data:
        return f"Error: {error_text(result)}"
    if result.error_class == "timeout":
        return _join_output(result, f"Error: timed out after {arguments['timeout']} seconds")
    if result.error_class == "exit_nonzero":
        return _join_output(result, f"Exit code: {result.data['exit_code']}")
    return f"Error: {error_text(result)}"


def _join_output(result: ToolResult, ending: str) -> str:
    printed = [result.data["stdout"].rstrip("\n"), result.data["stderr"].rstrip("\n")]
    text = "\n".join(part for part in printed if part)
    text = cut(text, SHOWN_CHARS - len(ending) - 1, MARK)
    return "\n".join(part for part in (text, ending) if part)


def rename_task_tool(_: Arguments, result: ToolResult) -> str:
    """Return the results of sub-agents, with this dialect's name for the tool that reads more."""
    return _READ_WITH.sub(r"\1AgentResult\2", result.output)
