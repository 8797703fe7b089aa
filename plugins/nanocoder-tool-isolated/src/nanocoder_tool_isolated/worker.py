"""The process of an installed plugin: it imports the plugin, and runs one call of one tool.

An audit hook enforces the plugin's capabilities with a clear error. The hook is no security
boundary, since code in the same process can evade it: the sandbox around this process is.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from nanocoder import (
    NanocoderError,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    Workspace,
    WorkspaceError,
)
from nanocoder_kit_process.capabilities import Capabilities

from nanocoder_tool_isolated.audit import watch

Say = Callable[[dict[str, Any]], None]


def main() -> None:
    """Serve the one request of standard input."""
    sys.dont_write_bytecode = True  # its own imports would be refused as changes
    say = _private_output()
    request = json.loads(sys.stdin.buffer.readline())
    root = Path(request["workspace"])
    try:
        with Workspace(root) as workspace:
            result = _call(request, workspace, say)
    except NanocoderError as error:
        result = ToolResult(str(error), is_error=True, error_class=error.error_class)
    except BaseException as error:  # noqa: BLE001 - a plugin may raise, or leave, as it likes
        text = f"{request['call']} broke: {type(error).__name__}: {error}"
        result = ToolResult(text, is_error=True, error_class="tool_broken")
    say(
        {
            "output": str(result.output),
            "title": str(result.title),
            "data": result.data,
            "is_error": bool(result.is_error),
            "error_class": str(result.error_class),
        }
    )
    os._exit(0)


def _private_output() -> Say:
    """Return the function that writes a message line, and discard the plugin's own output."""
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    return say


def _call(request: dict[str, Any], workspace: Workspace, say: Say) -> ToolResult:
    with suppress(WorkspaceError):  # loads the system function that opens files now
        workspace.read_text("..")
    watch(Capabilities.of(request["capabilities"]), workspace.root)
    sys.path += request["paths"]
    plugin = importlib.import_module(request["module"])
    tools: list[Tool[..., Any]] = plugin.nanocoder_tools()
    tool = next((each for each in tools if each.name == request["call"]), None)
    if tool is None:
        raise ToolError(f"{request['module']} offers no tool {request['call']!r} any more")
    context = ToolContext(
        session_id="",
        message_id=request["id"],
        workspace=workspace,
        working_directory=workspace.root,
        progress=lambda text, **_: say({"progress": text}),
        make_tmp=lambda: Path("/tmp"),  # noqa: S108 - its own, in the sandbox
    )
    return tool.invoke(context, tool.signature.check(request["arguments"]))


if __name__ == "__main__":
    main()
