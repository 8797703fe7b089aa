"""Tools behind a mediator: a program that gets each call first, and passes, answers or refuses it.

In: one line of JSON, `{"tool": NAME, "arguments": {…}, "workspace": PATH, "session": ID}`. Out: one
line, `{"pass": true}`, `{"output": TEXT}` instead of the tool's, or `{"refuse": REASON}`.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve
from nanocoder import Denied, Tool, ToolContext, ToolError, ToolResult, one_line, parse_json
from nanocoder_kit_process import environment

from nanocoder_tool_wrap.wrappers import as_json

MEDIATOR_S: Final = 10.0
SHOWN_CHARS: Final = 300


class MediatorFailed(ToolError):
    """The mediator gave no answer, so the call does not run."""

    error_class = "mediator_failed"


def with_mediator(
    tool: Tool[..., Any], command: Sequence[str], timeout_s: float = MEDIATOR_S
) -> Tool[..., Any]:
    """Return *tool* with each call decided by the program *command* first.

    The call does not run unless the program passes it within *timeout_s* seconds.
    """

    def mediated(ctx: ToolContext, **arguments: Any) -> ToolResult:
        request = {
            "tool": tool.name,
            "arguments": as_json(arguments),
            "workspace": str(ctx.working_directory),
            "session": ctx.session_id,
        }
        answer = _ask(command, request, timeout_s)
        if "refuse" in answer:
            raise Denied(f"the mediator refused it: {one_line(str(answer['refuse']), SHOWN_CHARS)}")
        if isinstance(answer.get("output"), str):
            return ToolResult(answer["output"])
        if answer.get("pass") is not True:
            problem = "its answer has neither `pass`, `output` nor `refuse`"
            raise MediatorFailed(f"the mediator {command[0]} failed: {problem}")
        return tool.invoke(ctx, arguments)

    return evolve(tool, handler=mediated)


def _ask(command: Sequence[str], request: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
    problem = f"no answer within {timeout_s:g} s"
    try:
        process = subprocess.run(
            command,
            cwd="/",  # the workspace must not hold the program, nor files that it obeys
            input=f"{json.dumps(request)}\n".encode(),
            env=environment(os.environ, workspace=Path(request["workspace"])),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        answer = parse_json(process.stdout.decode())
        if process.returncode == 0 and isinstance(answer, dict):
            return answer
        problem = f"exit code {process.returncode}, {_as_line(process.stdout + process.stderr)}"
    except (OSError, ValueError, ToolError) as error:
        problem = one_line(str(error), SHOWN_CHARS)
    except subprocess.TimeoutExpired:
        pass
    raise MediatorFailed(f"the mediator {command[0]} failed: {problem}")


def _as_line(output: bytes) -> str:
    return one_line(output.decode(errors="replace"), SHOWN_CHARS) or "no output"
