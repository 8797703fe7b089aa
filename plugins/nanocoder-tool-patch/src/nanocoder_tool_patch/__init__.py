"""The tool apply_patch: changes to several files in one call, all of them or none."""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final

from nanocoder import (
    Effect,
    Param,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Understood,
    hookimpl,
    tool,
)
from nanocoder_kit_files.text import OBJECTIONS, Objections

IN_SHELL: Final = re.compile(
    r"\s*(?P<cat>cat|apply_?patch)\s+<<-?\s*(['\"]?)(?P<end>\w+)\2"
    r"(?P<pipe>\s*\|\s*apply_?patch)?\s*\n(?P<patch>.*)\n(?P=end)\s*",
    re.DOTALL,
)
"""A patch as a here document, as the models of Codex write it."""
EXPANDED: Final = re.compile(r"[$`]")
"""Characters by which a shell replaces text in a quotation."""


def deletes(arguments: Mapping[str, Any]) -> bool:
    """Return True if a patch, in either form, deletes a file."""
    from nanocoder_tool_patch.parse import parse

    try:
        return any(section.kind == "delete" for section in parse(str(arguments.get("patch", ""))))
    except ToolError:
        return False  # an invalid patch is never applied


@tool(
    risk="dangerous",
    effects={Effect.WRITE, Effect.REVERSIBLE},
    transactional=True,
    confirm=deletes,
    examples=[
        {
            "patch": "*** Begin Patch\n*** Add File: greeting.txt\n+Good morning.\n"
            "*** Update File: hello.py\n@@\n"
            '-print("hello")\n+print("good morning")\n*** End Patch\n'
        }
    ],
)
def apply_patch(
    ctx: ToolContext,
    patch: Annotated[
        str,
        Param(
            "Unified diff; or *** Begin Patch to *** End Patch, in it *** Add File: (Update,"
            " Delete), Move to:, hunks after @@.",
            min_length=1,
        ),
    ],
) -> ToolResult:
    """Add, change, rename and delete files by one patch: all of it or nothing.

    Returns a line for each file. For one place in one file use edit_file.
    """
    # Here and below: the first call of every session imports this module, whatever it calls.
    from nanocoder_tool_patch.steps import apply

    return apply(ctx, patch)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer apply_patch."""
    return [apply_patch]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the memory of the objections that a session has seen."""
    return [Resource(OBJECTIONS, Objections)]


@hookimpl(rank=40)  # before plugins that read the list as a command
def nanocoder_understand(call: ToolCall, tools: Mapping[str, Tool[..., Any]]) -> Understood | None:
    """Read a patch that a model gives to a program of this name in the shell."""
    command, name = call.arguments.get("command", call.arguments.get("cmd")), apply_patch.name
    patch = _patch_in(command) if name in tools else ""
    return Understood(name, {"patch": patch}, (f"{call.name} as {name}",)) if patch else None


def _patch_in(command: object) -> str:
    """Return the patch if a command does nothing but apply one, else ""."""
    match command:
        case ["apply_patch" | "applypatch", str(patch)]:
            return patch
        case [str(shell), "-c" | "-lc", str(inner)] if shell.endswith("sh"):
            return _patch_in(inner)
        case str(text) if "patch" in text:
            in_shell = IN_SHELL.fullmatch(text)
            if in_shell and (in_shell["cat"] == "cat") is bool(in_shell["pipe"]):
                return in_shell["patch"]
            with suppress(ValueError):  # an open quotation
                return "" if EXPANDED.search(text) else _patch_in(shlex.split(text))
    return ""


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Return the diffs of a planned patch; raises ToolError if it would fail."""
    if call.name != apply_patch.name or result is not None:
        return None
    from nanocoder_tool_patch.steps import show

    return show(session, str(call.arguments.get("patch", "")))
