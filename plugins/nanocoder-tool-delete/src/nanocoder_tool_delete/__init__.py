"""The tool delete_file: one file, backed up first."""

import stat
from typing import Annotated, Any
from unicodedata import normalize

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
    """Delete one file; a copy is kept for undo. For a directory use bash."""
    where, kind, size = _plan(ctx.workspace, path)
    ctx.cancelled.check()
    try:
        backup = ctx.workspace.delete(path)
    except WorkspaceError as error:
        raise _explain(error, where) from None
    note = "" if backup or kind == "Link" else "\n[no copy is kept: this session keeps no backups]"
    return ToolResult(
        f"{kind} deleted: {where}{f' ({_bytes(size)})' if kind == 'File' else ''}{note}",
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
    """Return a line with the file to delete and its size; raises ToolError if it cannot be."""
    if call.name != delete_file.name or result is not None:
        return None
    path = str(call.arguments.get("path", ""))
    with Workspace(session.cwd, readable=session.readable) as workspace:
        where, kind, size = _plan(workspace, path)
        if kind != "Link" and workspace.is_dir(where):
            raise _directory_error(where)
    return f"delete {path} ({kind.lower()}, {_bytes(size)})"


def _bytes(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"


def _plan(workspace: Workspace, path: str) -> tuple[str, str, int]:
    """Return the path of the file, its kind and its size; raises WorkspaceError."""
    where = workspace.relative(path)
    _refuse_git(workspace, where)
    kind, size = _kind_and_size(workspace, where)
    return where, kind, size


def _refuse_git(workspace: Workspace, where: str) -> None:
    """Refuse paths in git's directory, under every name that it has on this file system."""
    protection = workspace.protection(where.rpartition("/")[0] or ".")
    if protection is not None and protection.kind is ProtectionKind.GIT:
        raise WorkspaceError(
            f"{where!r} belongs to git and is not deleted here; git has commands for that",
            error_class="protected_path",
        )


def _kind_and_size(workspace: Workspace, where: str) -> tuple[str, int]:
    """Return "File", "Link" or "Special file" and the size in bytes; raises file_not_found."""
    if _is_link(workspace, where):
        return "Link", 0
    status = workspace.stat(where)
    return ("File" if stat.S_ISREG(status.st_mode) else "Special file"), status.st_size


def _is_link(workspace: Workspace, where: str) -> bool:
    folder, _, name = where.rpartition("/")
    # A path that resolves to anything but itself is a link.
    parent = workspace.resolve(folder or ".")
    try:
        # A name may be given in another form of Unicode than on the disk.
        resolved = normalize("NFC", workspace.resolve(where))
        return resolved != normalize("NFC", name if parent == "." else f"{parent}/{name}")
    except WorkspaceError:  # a link that leads out of the workspace, or in a circle
        return True


def _explain(error: WorkspaceError, where: str) -> WorkspaceError:
    return _directory_error(where) if error.error_class == "is_a_directory" else error


def _directory_error(where: str) -> WorkspaceError:
    message = f"{where!r} is a directory; delete its files one by one"
    return WorkspaceError(message, error_class="is_a_directory")
