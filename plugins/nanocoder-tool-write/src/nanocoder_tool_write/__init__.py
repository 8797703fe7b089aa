"""The tool write_file: a whole file, atomically, and not by mistake."""

from typing import TYPE_CHECKING, Annotated, Any

from attrs import evolve, frozen
from nanocoder import (
    Effect,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Workspace,
    Written,
    hookimpl,
    tool,
)
from nanocoder_kit_files.diff import Diff, clip_lines
from nanocoder_kit_files.text import OBJECTIONS, Objections, TextChange, check_change

from nanocoder_tool_write.docstring_quotes import repair_quotes
from nanocoder_tool_write.loss import find_lost_definitions, refuse_loss, refuse_unread
from nanocoder_tool_write.merge import merge_definitions
from nanocoder_tool_write.missing_imports import missing_imports, with_imports
from nanocoder_tool_write.plan import Plan, plan_write

if TYPE_CHECKING:
    from nanocoder_tool_write.merge import Merged

MAX_DIFF_LINES = 2_000


@frozen
class Settings:
    """The settings of `[plugins.tool-write]`.

    *read_first*: a model may replace a file only after it has read all of it, but a short line.
    *keep_definitions*: a rewrite that drops functions or classes is rejected once; from a small
    model, its definitions are merged into the old file instead, if that is Python. *add_imports*:
    missing imports from the standard library are added to Python files of a small model.
    """

    read_first: bool = True
    keep_definitions: bool = True
    add_imports: bool = True


@tool(
    risk="medium",
    effects={Effect.WRITE, Effect.IDEMPOTENT, Effect.REVERSIBLE},
    examples=[{"path": "hello.py", "content": 'print("hello")\n'}],
    always_listed=True,
    short="Create a file, or replace all of it.",
)
def write_file(
    ctx: ToolContext,
    path: Annotated[str, "File; relative to the workspace; a directory ends in /."],
    content: Annotated[str, "Whole file; with nothing abbreviated."],
) -> ToolResult:
    """Create a file, with the directories above it, or replace all of one that you have read.

    Returns how many lines came and went. To change a part of a file use edit_file; for several
    files use apply_patch.
    """
    settings: Settings = ctx.settings or Settings()
    if path.endswith("/"):
        return _directory(ctx.workspace, path, content)
    content, help_given = _helped(ctx.workspace, path, content, settings, ctx.session)
    plan = plan_write(ctx.workspace, path, content)
    if plan.old and plan.changes_nothing():
        text = f"File unchanged: {plan.path} already has this content"
        # The path in the metadata is that of a changed file.
        return evolve(_result(plan, text), metadata={})
    _refuse_unread(ctx.workspace, plan, settings, ctx.session)
    if plan.old and settings.keep_definitions and _is_of_model(ctx.session):
        refuse_loss(ctx, plan.path, plan.old.text, plan.content)
    notes = [help_given, check_change(_change(plan), ctx)]
    outcome = ctx.workspace.write_bytes(path, plan.data)
    diff = plan.diff()
    if outcome.created:
        headline = f"File created: {plan.path} ({_bytes(outcome.size)})"
    elif plan.old is None:
        headline = f"File updated: {plan.path} ({_bytes(outcome.size)}; the old file was binary)"
    else:
        headline = f"File updated: {plan.path} (+{diff.added} -{diff.removed} lines)"
    if plan.old and plan.changes_encoding:
        notes.append(f"[the file was {plan.old.encoding} and is now {plan.encoding}]")
    elif plan.old and plan.old.is_guessed:
        notes.append(f"[written as {plan.encoding}, which is a guess]")
    return _result(
        plan,
        "\n".join(filter(None, [headline, *notes])),
        outcome=outcome,
        diff=None if outcome.created else diff,
    )


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer write_file."""
    return [write_file]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-write]`."""
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
    """Return the diff of a planned write; raises ToolError if it would fail."""
    if tool.name != write_file.name or result is not None:
        return None
    path, content = call.arguments["path"], call.arguments["content"]
    settings = settings or Settings()
    with Workspace(session.cwd, readable=session.readable) as workspace:
        if path.endswith("/"):
            return f"make the directory {workspace.relative(path)}/"
        content, _ = _helped(workspace, path, content, settings, session)
        plan = plan_write(workspace, path, content)
        if not plan.changes_nothing():
            _refuse_unread(workspace, plan, settings, session)
    note = check_change(_change(plan))
    if plan.old is None:
        preview = f"new file {plan.path}, {_bytes(len(plan.data))}\n\n{content}"
    else:
        preview = plan.diff().text or f"{plan.path} stays as it is"
    return f"{preview}\n{note}" if note else preview


def _change(plan: Plan) -> TextChange:
    before = plan.old.text if plan.old else ""
    return TextChange(plan.path, before, lambda: plan.content, plan.content)


def _directory(workspace: Workspace, path: str, content: str) -> ToolResult:
    """Make a directory; raises ToolError when there is something to write into it."""
    if content.strip():
        raise ToolError(
            f"{path!r} is a directory; to write a file, name it: {path}NAME",
            error_class="is_a_directory",
        )
    where = workspace.relative(path)
    is_new = not workspace.is_dir(path)
    workspace.make_dirs(path.rstrip("/") or "/")
    data = {"path": where, "created": is_new, "size": 0}
    output = f"Directory {'created' if is_new else 'exists'}: {where}/"
    return ToolResult(output, title=where, data=data, metadata=data)


def _helped(
    workspace: Workspace, path: str, content: str, settings: Settings, session: SessionInfo | None
) -> tuple[str, str]:
    """Return the repaired content of a small model, and a note on the repairs.

    Quotes of a docstring are repaired, a rewrite that would lose definitions is merged into the
    old file, and missing imports are added.
    """
    is_small = session is not None and session.model and session.profile == "small"
    if not is_small or not path.endswith(".py"):
        return content, ""

    notes = []
    if (repaired := repair_quotes(content)) != content:
        content = repaired
        notes.append("[the quotes of a docstring, or the end of the code, were repaired]")
    if settings.keep_definitions and (merged := _merge(workspace, path, content)):
        content = merged.text
        notes.append(f"[put into the file: {', '.join(merged.changed)}; everything else stays]")
    if settings.add_imports and (statements := missing_imports(content)):
        content = with_imports(content, statements)
        notes.append(f"[added to the file: {'; '.join(statements)}]")
    return content, "\n".join(notes)


def _merge(workspace: Workspace, path: str, content: str) -> "Merged | None":
    """Return the old file with the definitions of *content*, if that would lose others."""
    old = plan_write(workspace, path, content).old
    if old is None or not find_lost_definitions(path, old.text, content):
        return None

    return merge_definitions(old.text, content)


def _refuse_unread(
    workspace: Workspace, plan: Plan, settings: Settings, session: SessionInfo | None
) -> None:
    """Raise ToolError (not_read) if a model replaces a file of which it has not read all."""
    if plan.old and settings.read_first and _is_of_model(session):
        refuse_unread(workspace, plan.path, plan.old)


def _is_of_model(session: SessionInfo | None) -> bool:
    """Return True if a model calls: only it omits parts of a file, a person knows its content."""
    return session is not None and bool(session.model)


def _bytes(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"


def _result(
    plan: Plan, output: str, *, outcome: Written | None = None, diff: Diff | None = None
) -> ToolResult:
    created = outcome is not None and outcome.created
    diff = diff or Diff(added=plan.lines if created else 0)
    return ToolResult(
        output,
        title=plan.path,
        data={"path": plan.path, "created": created, "size": len(plan.data)},
        metadata={
            "path": plan.path,
            "size": len(plan.data),
            "lines": plan.lines,
            "created": created,
            "added": diff.added,
            "removed": diff.removed,
            "diff": clip_lines(diff.text, MAX_DIFF_LINES),
            "backup": str((outcome and outcome.backup) or ""),
            "encoding": plan.encoding,
        },
    )
