"""The tool move_file: move, rename or copy in the workspace; a replaced file is backed up."""

import stat
from typing import Annotated, Any, Final

from nanocoder import (
    Effect,
    Param,
    ProtectionKind,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    Workspace,
    WorkspaceError,
    Written,
    fold_name,
    hookimpl,
    tool,
)

_MOST_TRIED: Final = 100
"""Limit of the temporary names tried for a rename that changes only letter case."""


@tool(
    risk="medium",
    effects={Effect.WRITE, Effect.REVERSIBLE},
    examples=[{"source": "old.txt", "destination": "kept/old.txt"}],
)
def move_file(
    ctx: ToolContext,
    source: Annotated[str, Param("Old path.", min_length=1)],
    destination: Annotated[str, Param("New path; with the name.", min_length=1)],
    *,
    replace: Annotated[bool, "Overwrite; a file that is there."] = False,
    copy: Annotated[bool, "Keep the source."] = False,
) -> ToolResult:
    """Move, rename or copy a file, or move a directory; missing directories are made.

    Overwrites nothing unless replace is set.
    """
    plan = _plan(ctx.workspace, source, destination)
    ctx.cancelled.check()
    perform = _copy if copy else Workspace.move
    if perform is Workspace.move and _is_same_entry(ctx.workspace, plan):
        perform = _rename_equivalent
    try:
        outcome = perform(ctx.workspace, source, destination, replace=replace)
    except WorkspaceError as error:
        raise _explain(ctx.workspace, error, plan, replace=replace) from None
    backup = str(outcome.backup or "")
    replaced = not outcome.created
    note = f"\n[replaced; the old file is {backup}]" if backup else ""
    if replaced and not backup:
        note = "\n[replaced; no copy is kept: this session keeps no backups]"
    data = {"source": plan[0], "path": plan[1], "replaced": replaced, "backup": backup}
    output = f"{'Copied' if copy else 'Moved'}: {plan[0]} -> {plan[1]}{note}"
    changed = [plan[1]] if copy else [*plan]
    metadata = {**data, "files_changed": changed}
    return ToolResult(output, title=plan[1], data=data, metadata=metadata)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer move_file."""
    return [move_file]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Preview the move and whether it replaces a file; raises ToolError when it cannot work."""
    if call.name != move_file.name or result is not None:
        return None
    arguments = call.arguments
    replace = bool(arguments.get("replace"))
    with Workspace(session.cwd, readable=session.readable) as workspace:
        plan = _plan(workspace, str(arguments.get("source")), str(arguments.get("destination")))
        replaces = _will_replace(workspace, plan, replace=replace)
    verb = "copy" if arguments.get("copy") else "move"
    return f"{verb} {plan[0]} -> {plan[1]}" + ("\n[replaces the existing file]" if replaces else "")


def _copy(workspace: Workspace, source: str, destination: str, *, replace: bool) -> Written:
    """Write the content of *source* to *destination*; raises WorkspaceError for a directory."""
    data = workspace.read_bytes(source)
    is_new = not workspace.exists(destination)
    mode = stat.S_IMODE(workspace.stat(source).st_mode) if is_new else None
    # The digest "" means a missing file: one that appeared meanwhile is not overwritten.
    expect = None if replace else ""
    return workspace.write_bytes(destination, data, expect=expect, mode=mode)


def _rename_equivalent(
    workspace: Workspace, source: str, destination: str, *, replace: bool
) -> Written:
    """Rename a file to an equivalent name, such as one in other case, via a temporary name.

    A system that takes both names for one would report that the file exists already. A folder
    could not be moved back while the system caches its old name.
    """
    if workspace.is_dir(source):
        message = (
            f"{source!r} and {destination!r} are the same folder here; move it to a third name"
            " first, and from there"
        )
        raise WorkspaceError(message, error_class="invalid_path")
    names = (f"{source}.{number}" for number in range(1, _MOST_TRIED))
    between = next((name for name in names if not workspace.exists(name)), f"{source}.0")
    workspace.move(source, between)
    try:
        return workspace.move(between, destination, replace=replace)
    except WorkspaceError:
        workspace.move(between, source)
        raise


def _is_same_entry(workspace: Workspace, plan: tuple[str, str]) -> bool:
    """Return True if both paths are equivalent names of one entry of the folder."""
    (folder, _, old), (other, _, new) = (path.rpartition("/") for path in plan)
    if folder != other or fold_name(old) != fold_name(new) or not workspace.exists(plan[1]):
        return False
    names = {entry.name for entry in workspace.scan(folder or ".")}
    return old in names and new not in names


def _plan(workspace: Workspace, source: str, destination: str) -> tuple[str, str]:
    """Return both paths relative to the workspace; raises WorkspaceError for an impossible move."""
    here, there = workspace.relative(source), workspace.relative(destination)
    for path in (here, there):
        folder = path.rpartition("/")[0]
        protection = workspace.protection(folder or ".")
        if protection is not None and protection.kind is ProtectionKind.GIT:
            raise WorkspaceError(
                f"{path!r} belongs to git; nothing is moved into or out of there",
                error_class="protected_path",
            )
    if there == here or there.startswith(f"{here}/"):
        where = "onto itself" if there == here else "into itself"
        raise WorkspaceError(f"{here!r} cannot be moved {where}", error_class="invalid_path")
    return here, there


def _will_replace(workspace: Workspace, plan: tuple[str, str], *, replace: bool) -> bool:
    """Return True if a file will be replaced; raises WorkspaceError when it must not be."""
    here, there = plan
    folder, _, name = here.rpartition("/")
    # A link that leads nowhere can be moved, too.
    if not workspace.exists(here) and all(
        entry.name != name for entry in workspace.scan(folder or ".")
    ):
        workspace.stat(here)
    if not workspace.exists(there) or _is_same_entry(workspace, plan):
        return False
    if not replace or workspace.is_dir(there):
        error = WorkspaceError(f"{there!r} exists", error_class="file_exists")
        raise _explain(workspace, error, plan, replace=replace)
    return True


def _explain(
    workspace: Workspace, error: WorkspaceError, plan: tuple[str, str], *, replace: bool
) -> WorkspaceError:
    here, there = plan
    if error.error_class not in {"file_exists", "is_a_directory"} or not workspace.exists(there):
        return error
    if workspace.is_dir(there):
        name = here.rpartition("/")[2]
        advice = f"to move something into it, name it: {there}/{name}"
        return WorkspaceError(f"{there!r} is a directory; {advice}", error_class="file_exists")
    advice = "" if replace else "; choose another name, or replace it with replace=true"
    return WorkspaceError(f"{there!r} exists{advice}", error_class="file_exists")
