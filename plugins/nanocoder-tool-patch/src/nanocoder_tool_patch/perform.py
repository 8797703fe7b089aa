"""Apply planned changes to the files."""

from collections.abc import Callable, Sequence

from nanocoder import Cancel, Workspace, WorkspaceError

from nanocoder_tool_patch.plan import Change


def perform(workspace: Workspace, changes: Sequence[Change], cancel: Cancel) -> None:
    """Make the *changes*.

    Raises: ToolError, Cancelled; the call's transaction then restores every file.
    """
    for change in changes:
        cancel.check()
        _STEPS[change.letter](workspace, change)


def _create(workspace: Workspace, change: Change) -> None:
    # The digest "" means a missing file: one that appeared meanwhile is not overwritten.
    workspace.write_bytes(change.path, change.data, expect="", mode=change.mode or None)


def _modify(workspace: Workspace, change: Change) -> None:
    workspace.write_bytes(change.path, change.data, expect=change.digest, mode=change.mode or None)


def _rename(workspace: Workspace, change: Change) -> None:
    _modify(workspace, change)
    workspace.move(change.path, change.target)


def _delete(workspace: Workspace, change: Change) -> None:
    if workspace.digest_of(change.path) != change.digest:
        raise WorkspaceError(
            f"{change.path!r} has changed since it was read; try again", error_class="stale_read"
        )
    workspace.delete(change.path)


_STEPS: dict[str, Callable[[Workspace, Change], None]] = {
    "A": _create,
    "M": _modify,
    "R": _rename,
    "D": _delete,
}
