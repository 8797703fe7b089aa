"""The answers of the reference: a text for a success, an object for a failure."""

import json
from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult, clip
from nanocoder_kit_dialect import error_text

HEAD_CHARS, TAIL_CHARS = 6_000, 14_000

Arguments = Mapping[str, Any]


def shorten(_: Arguments, result: ToolResult) -> str:
    """Return the tool's own text; a long one is cut to its beginning and, mostly, its end."""
    return clip(result.output, head=HEAD_CHARS, tail=TAIL_CHARS)


def show_output(_: Arguments, result: ToolResult) -> str:
    """Return the output of a command."""
    text = f"{result.data['stdout']}{result.data['stderr']}".rstrip("\n")
    return clip(text, head=HEAD_CHARS, tail=TAIL_CHARS) or "(no output)"


def describe_failed_command(arguments: Arguments, result: ToolResult) -> str:
    """Describe a failed command, with its output."""
    if result.error_class == "exit_nonzero" and result.data is not None:
        problem = f"exit code {result.data['exit_code']}"
        return failure_object(problem, output=show_output(arguments, result))
    return describe_failure(arguments, result)


def describe_failure(_: Arguments, result: ToolResult) -> str:
    """Return the error as a JSON object."""
    return failure_object(clip(error_text(result), head=HEAD_CHARS, tail=TAIL_CHARS))


def failure_object(error: str, **more: str) -> str:
    """Return a failure as the reference writes it."""
    return json.dumps({"success": False, "error": error, **more}, ensure_ascii=False)
