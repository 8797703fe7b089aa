"""Writing what was planned: all of it, or none."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

from nanocoder import Cancel, NanocoderError, ToolError, Workspace, WorkspaceError

from nanocoder_tool_patch.plan import Change

Undo = tuple[str, Callable[[], object]]


def perform(workspace: Workspace, changes: Sequence[Change], cancel: Cancel) -> None:
    """Make the *changes*; after a failure every file is as it was, and the error says so.

    Deleting comes last: what is written can be put back with its mode, what is deleted cannot.
    Raises: ToolError, Cancelled.
    """
    done: list[Undo] = []
    try:
        for change in sorted(changes, key=lambda change: change.letter == "D"):
            cancel.check()
            for undo in _STEPS[change.letter](workspace, change):
                done.append(undo)  # noqa: PERF402 - what was done must be known when the next fails
    except BaseException as error:
        lost = _undone(done)
        if not isinstance(error, ToolError):
            raise
        raise _explained(error, len(done), lost) from error


def _create(workspace: Workspace, change: Change) -> Iterator[Undo]:
    made = _missing_folders(workspace, change.path)
    written = workspace.write_bytes(change.path, change.data, expect_digest="")
    yield change.path, lambda: _uncreate(workspace, written.path, made)


def _modify(workspace: Workspace, change: Change) -> Iterator[Undo]:
    written = workspace.write_bytes(change.path, change.data, expect_digest=change.digest)
    old = written.old or b""
    yield (
        change.path,
        lambda: workspace.write_bytes(change.path, old, expect_digest=written.digest),
    )


def _rename(workspace: Workspace, change: Change) -> Iterator[Undo]:
    yield from _modify(workspace, change)
    made = _missing_folders(workspace, change.target)
    workspace.move(change.path, change.target)
    yield change.target, lambda: _unmove(workspace, change, made)


def _delete(workspace: Workspace, change: Change) -> Iterator[Undo]:
    if workspace.digest_of(change.path) != change.digest:
        raise WorkspaceError(
            f"{change.path!r} has changed since it was read; try again", error_class="stale_read"
        )
    workspace.delete(change.path)
    yield (
        change.path,
        lambda: workspace.write_bytes(change.path, change.data, expect_digest=""),
    )


_STEPS: dict[str, Callable[[Workspace, Change], Iterator[Undo]]] = {
    "A": _create,
    "M": _modify,
    "R": _rename,
    "D": _delete,
}


def _missing_folders(workspace: Workspace, path: str) -> list[str]:
    """Return the directories above *path* that do not exist, innermost first."""
    missing = []
    folder = path.rpartition("/")[0]
    while folder and not workspace.exists(folder):
        missing.append(folder)
        folder = folder.rpartition("/")[0]
    return missing


def _uncreate(workspace: Workspace, path: str, made: Sequence[str]) -> None:
    workspace.delete(path)
    _remove(workspace, made)


def _unmove(workspace: Workspace, change: Change, made: Sequence[str]) -> None:
    workspace.move(change.target, change.path)
    _remove(workspace, made)


def _remove(workspace: Workspace, folders: Sequence[str]) -> None:
    for folder in folders:
        with contextlib.suppress(WorkspaceError):  # somebody else has put something into it
            workspace.remove_dir(folder)


def _undone(done: Sequence[Undo]) -> list[str]:
    """Take back what was *done*, last first; return what could not be."""
    lost = []
    for path, undo in reversed(done):
        try:
            undo()
        except NanocoderError as error:
            lost.append(f"{path} could not be put back: {error}")
    return lost


def _explained(error: ToolError, count: int, lost: Sequence[str]) -> ToolError:
    if lost:
        said = "\n".join(lost)
    elif count:
        said = "nothing was changed: what had been written is as it was before"
    else:
        said = "nothing was changed"
    told = type(error)(f"{error}\n[{said}]")
    told.error_class = error.error_class
    return told
