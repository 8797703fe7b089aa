"""What the reference answers: the text of a success, an object for a failure."""

import json
from collections.abc import Mapping
from typing import Any

from nanocoder import ToolResult, clip
from nanocoder_kit_dialect import said

HEAD_CHARS, TAIL_CHARS = 6_000, 14_000

Arguments = Mapping[str, Any]


def shortened(_: Arguments, result: ToolResult) -> str:
    """Return the tool's own text, of a long one the beginning and mostly the end."""
    return clip(result.output, head=HEAD_CHARS, tail=TAIL_CHARS)


def printed(_: Arguments, result: ToolResult) -> str:
    """Return what a command printed."""
    text = f"{result.data['stdout']}{result.data['stderr']}".rstrip("\n")
    return clip(text, head=HEAD_CHARS, tail=TAIL_CHARS) or "(no output)"


def not_run(arguments: Arguments, result: ToolResult) -> str:
    """Answer for a command that failed, with what it printed."""
    if result.error_class == "exit_nonzero" and result.data is not None:
        problem = f"exit code {result.data['exit_code']}"
        return failure(problem, output=printed(arguments, result))
    return failed(arguments, result)


def failed(_: Arguments, result: ToolResult) -> str:
    """Say what is wrong."""
    return failure(clip(said(result), head=HEAD_CHARS, tail=TAIL_CHARS))


def failure(error: str, **more: str) -> str:
    """Return a failure as the reference writes it."""
    return json.dumps({"success": False, "error": error, **more}, ensure_ascii=False)
