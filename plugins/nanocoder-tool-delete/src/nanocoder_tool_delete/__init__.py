"""The tool delete_file: one file, backed up first."""

import stat
from typing import Annotated, Any

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
    hookimpl,
    tool,
)


@tool(
    risk="destructive",
    effects={Effect.WRITE, Effect.REVERSIBLE},
    examples=[{"path": "old.txt"}],
)
def delete_file(
    ctx: ToolContext,
    path: Annotated[str, Param("File to delete.", min_length=1)],
) -> ToolResult:
    """Delete one file; a copy is kept."""
    where, what, size = _plan(ctx.workspace, path)
    ctx.cancelled.check()
    try:
        backup = ctx.workspace.delete(path)
    except WorkspaceError as error:
        raise _explained(error, where) from None
    kept = "" if backup or what == "Link" else "\n[no copy is kept: this session keeps no backups]"
    return ToolResult(
        f"{what} deleted: {where}{f' ({_bytes(size)})' if what == 'File' else ''}{kept}",
        title=where,
        data={"path": where, "size": size, "backup": str(backup or "")},
        metadata={"path": where, "size": size, "backup": str(backup or "")},
    )


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer delete_file."""
    return [delete_file]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Say which file would go, and how large it is; raises ToolError when none can."""
    if call.name != delete_file.name or result is not None:
        return None
    path = str(call.arguments.get("path", ""))
    with Workspace(session.cwd, readable=session.readable) as workspace:
        where, what, size = _plan(workspace, path)
        if what != "Link" and workspace.is_dir(where):
            raise _directory(where)
    return f"delete {path} ({what.lower()}, {_bytes(size)})"


def _bytes(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"


def _plan(workspace: Workspace, path: str) -> tuple[str, str, int]:
    """Return where the file is, what it is and its size; raises WorkspaceError."""
    where = workspace.relative(path)
    _refuse_git(workspace, where)
    what, size = _what(workspace, where)
    return where, what, size


def _refuse_git(workspace: Workspace, where: str) -> None:
    """Refuse what lies in git's directory, whatever its name looks like on this file system."""
    protection = workspace.protection(where.rpartition("/")[0] or ".")
    if protection is not None and protection.kind is ProtectionKind.GIT:
        raise WorkspaceError(
            f"{where!r} belongs to git and is not deleted here; git has commands for that",
            error_class="protected_path",
        )


def _what(workspace: Workspace, where: str) -> tuple[str, int]:
    """Return "File", "Link" or "Special file" and the size in bytes; raises file_not_found."""
    if _is_link(workspace, where):
        return "Link", 0
    found = workspace.stat(where)
    return ("File" if stat.S_ISREG(found.st_mode) else "Special file"), found.st_size


def _is_link(workspace: Workspace, where: str) -> bool:
    folder, _, name = where.rpartition("/")
    parent = workspace.resolve(folder or ".")
    try:
        return workspace.resolve(where) != (name if parent == "." else f"{parent}/{name}")
    except WorkspaceError:  # it leads out of the workspace, or round in circles
        return True


def _explained(error: WorkspaceError, where: str) -> WorkspaceError:
    return _directory(where) if error.error_class == "is_a_directory" else error


def _directory(where: str) -> WorkspaceError:
    said = f"{where!r} is a directory; delete its files one by one"
    return WorkspaceError(said, error_class="is_a_directory")
