"""What the reference answers, where it differs from the tools."""

import re
from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_dialect import cut, said

SHOWN_CHARS = 50_000
MARK = "\n[... output truncated]"
# Whole lines of ours only: what is around them are the words of a sub-agent.
_READ_WITH = re.compile(
    r"^(|Read its result with |\[a\d+ has finished: .*; see )task_result"
    r"(\.|\]| with id a\d+ and merge merges it\.)$",
    re.MULTILINE,
)

Arguments = Mapping[str, Any]


def numbered(_: Arguments, result: ToolResult) -> str:
    """Return the lines as `cat -n` writes them, and where to go on."""
    lines, first = result.data["lines"], result.data["first"]
    shown = [f"{number:6}\t{line}" for number, line in enumerate(lines, first)]
    if result.metadata["truncated"]:
        total = result.data["total"]
        of = "" if total is None else f" of {total}"
        shown.append(f"[lines {first}-{first + len(lines) - 1}{of}]")
    return "\n".join(shown) or result.output


def edited(_: Arguments, result: ToolResult) -> str:
    """Say how the place was found, and show what changed."""
    about = result.metadata
    count = about["replacements"]
    how = f"strategy {about['strategy']}, confidence {about['confidence']:.2f}"
    places = "1 replacement" if count == 1 else f"{count} replacements"
    return f"Edited {about['path']}: {places} ({how})\n{about['diff']}"


def matches(_: Arguments, result: ToolResult) -> str:
    """Return the matches; how to have the others is left out, as no argument here does it."""
    head, *lines = result.output.split("\n")
    return "\n".join([re.sub(r", continue with offset \d+:$", ":", head), *lines])


def output(_: Arguments, result: ToolResult) -> str:
    """Return what a command printed, standard output first."""
    return _ended(result, "") or "(no output)"


def not_run(arguments: Arguments, result: ToolResult) -> str:
    """Keep the output of a command that failed, and say how it ended."""
    if result.data is None or "stdout" not in result.data:
        return f"Error: {said(result)}"
    if result.error_class == "timeout":
        return _ended(result, f"Error: timed out after {arguments['timeout']} seconds")
    if result.error_class == "exit_nonzero":
        return _ended(result, f"Exit code: {result.data['exit_code']}")
    return f"Error: {said(result)}"


def _ended(result: ToolResult, ending: str) -> str:
    printed = [result.data["stdout"].rstrip("\n"), result.data["stderr"].rstrip("\n")]
    text = "\n".join(part for part in printed if part)
    text = cut(text, SHOWN_CHARS - len(ending) - 1, MARK)
    return "\n".join(part for part in (text, ending) if part)


def of_agents(_: Arguments, result: ToolResult) -> str:
    """Return what came of sub-agents; the tool that reads more has its name of this dialect."""
    return _READ_WITH.sub(r"\1AgentResult\2", result.output)
