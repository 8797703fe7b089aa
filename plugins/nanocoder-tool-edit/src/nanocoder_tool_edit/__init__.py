"""The tool edit_file: replaces text once or several times, and preserves every other byte."""

from functools import partial
from typing import Annotated, Any

from attrs import Factory, frozen
from nanocoder import (
    Effect,
    Param,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    Workspace,
    hookimpl,
    tool,
)
from nanocoder_kit_files.text import OBJECTIONS, Objections, check_change

from nanocoder_tool_edit.answer import answer
from nanocoder_tool_edit.plan import Search, plan_edit
from nanocoder_tool_edit.request import MAX_EDITS, Edit, Request
from nanocoder_tool_edit.small_models import is_for_small_model, others_with_old_name

# A factory has no default in the schema, and distinguishes a missing argument from "".
NOT_GIVEN: Any = Factory(lambda: None)


@frozen
class Settings:
    """The settings of `[plugins.tool-edit]`.

    *tolerant*: text that is not in the file exactly is searched with other white space,
    and with small differences.
    """

    tolerant: bool = True


@tool(
    risk="medium",
    effects={Effect.WRITE, Effect.REVERSIBLE},
    examples=[{"path": "hello.py", "old_string": "hello", "new_string": "good morning"}],
    always_listed=True,
    short="Replace old_string, copied from the file, by new_string.",
)
def edit_file(
    ctx: ToolContext,
    path: Annotated[str, "File; relative to the workspace."],
    old_string: Annotated[str, "Exact, unique; empty: append, or create the file."] = NOT_GIVEN,
    new_string: Annotated[str, "Replaces it; empty: delete."] = NOT_GIVEN,
    replace_all: Annotated[bool, "Everywhere; every place in the file."] = False,  # noqa: FBT002
    edits: Annotated[
        list[Edit],
        Param("Several; in order, all or none, instead of old_string.", max_length=MAX_EDITS),
    ] = NOT_GIVEN,
) -> ToolResult:
    """Replace text in a file; all else stays as it is.

    Copy old_string from read_file without the line numbers, with its indent; it has to be there
    once: add lines around it, or set replace_all. Returns the numbers of the changed lines. To
    rename in many files use bash; to replace a whole file use write_file.
    """
    settings: Settings = ctx.settings or Settings()
    request = Request.of(
        {
            "path": path,
            "old_string": old_string,
            "new_string": new_string,
            "replace_all": replace_all,
            "edits": edits,
        }
    )
    is_small = is_for_small_model(ctx.session)
    search = Search(settings.tolerant, partial(ctx.offers, "edit_file"), is_small)
    plan = plan_edit(ctx.workspace, request, search)
    note = check_change(plan.change(request), ctx)
    # The file may have been changed, or made, by another program since it was read.
    expected = plan.file.data if plan.file else ""
    outcome = ctx.workspace.write_bytes(path, plan.data, expect=expected)
    others = others_with_old_name(ctx.workspace, request, plan.path) if is_small else ""
    return answer(plan, request, outcome, [others, note])


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer edit_file."""
    return [edit_file]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-edit]`."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the memory of the objections that a session has seen."""
    return [Resource(OBJECTIONS, Objections)]


@hookimpl
def nanocoder_render(
    call: ToolCall,
    tool: Tool[..., Any],
    result: ToolResult | None,
    session: SessionInfo,
    settings: Any,
) -> str | None:
    """Return the diff of a planned edit; raises ToolError if it would fail."""
    if tool.name != edit_file.name or result is not None:
        return None
    settings = settings or Settings()
    with Workspace(session.cwd, readable=session.readable) as workspace:
        request = Request.of(edit_file.signature.check(call.arguments))
        search = Search(settings.tolerant, for_small_model=is_for_small_model(session))
        plan = plan_edit(workspace, request, search)
        note = check_change(plan.change(request))
    how = "" if plan.confidence() == 1.0 else f"[found by {plan.strategies()}]"
    return "\n".join(filter(None, [plan.diff().text, how, note]))
