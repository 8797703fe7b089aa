"""Replacing a name in several files, with a check afterwards and a way back."""

import re
from collections.abc import Mapping, Sequence

from attrs import frozen
from nanocoder import NanocoderError, ToolContext, ToolError, ToolResult, Workspace, clip
from nanocoder_kit_diff import clip_lines, unified

from nanocoder_tool_compose.steps import Steps

KEPT_DIFF_LINES = 2_000
CHECK_CHARS = 4_000
LOST_DEFINITIONS = "lost_definitions"


@frozen
class Refactor:
    """What was asked for."""

    files: Sequence[str]
    old: str
    new: str
    check: str


@frozen
class Change:
    """One file: *text* before and *after*, *data* its bytes before, *count* places."""

    path: str
    text: str
    after: str
    data: bytes
    count: int


def refactor(ctx: ToolContext, wanted: Refactor) -> ToolResult:
    """Read all files, replace, write, check; raises ToolError with all files as they were."""
    steps = Steps(ctx)
    for path in wanted.files:
        steps.take("read_file", path=path)
    changes = plan(ctx.workspace, wanted)
    written: list[Change] = []
    try:
        for change in changes:
            ctx.cancelled.check()
            written.append(change)
            _write(steps, change)
        checked = steps.take("bash", command=wanted.check)
        ctx.cancelled.check()
    except BaseException as error:
        lost = _restored(ctx.workspace, written)
        if not isinstance(error, ToolError):
            raise
        raise _explained(error, lost) from error
    counts = {change.path: change.count for change in changes}
    lines = [f"{path}: {_places(count)}" for path, count in counts.items()]
    shown = clip(checked.output, head=CHECK_CHARS // 2, tail=CHECK_CHARS // 2)
    return ToolResult(
        "\n".join([f"Replaced {wanted.old!r} by {wanted.new!r}; the check passed", *lines, shown]),
        title=f"{len(changes)} file{'s' if len(changes) != 1 else ''}",
        data={"steps": steps.taken, "places": counts},
        metadata={
            "files_changed": list(counts),
            "places": sum(counts.values()),
            "diff": diff_of(changes, KEPT_DIFF_LINES),
        },
    )


def plan(workspace: Workspace, wanted: Refactor) -> list[Change]:
    """Find every place in every file.

    Raises: ToolError (text_not_found, invalid_arguments), WorkspaceError.
    """
    if not (wanted.check.strip() and wanted.files and wanted.old):
        raise ToolError(
            "give files, the old text and a command that checks", error_class="invalid_arguments"
        )
    pattern = pattern_of(wanted.old)
    changes: dict[str, Change] = {}
    for path in wanted.files:
        file = workspace.read_file(path, note=False)
        after, count = pattern.subn(lambda _: wanted.new, file.text)
        if after == file.text:
            raise ToolError(
                f"nothing was changed: {wanted.old!r} is not in {file.path!r}, or is replaced by"
                " itself; give only files that have it",
                error_class="text_not_found",
            )
        data = workspace.encode(file.text, file)
        changes[file.path] = Change(file.path, file.text, after, data, count)
    return list(changes.values())


def pattern_of(old: str) -> re.Pattern[str]:
    """Return what finds *old*; as a whole word where it begins or ends like one."""
    before = r"(?<!\w)" if re.match(r"\w", old) else ""
    behind = r"(?!\w)" if re.search(r"\w\Z", old) else ""
    return re.compile(before + re.escape(old) + behind)


def diff_of(changes: Sequence[Change], limit: int) -> str:
    """Return one diff of all *changes*, in *limit* lines."""
    parts = (unified(change.text, change.after, change.path).text for change in changes)
    return clip_lines("\n".join(parts), limit)


def _write(steps: Steps, change: Change) -> None:
    arguments: Mapping[str, str] = {"path": change.path, "content": change.after}
    try:
        steps.take("write_file", **arguments)
    except ToolError as error:
        # A rename does lose the old name; asked once more, write_file believes it.
        if error.error_class != LOST_DEFINITIONS:
            raise
        steps.take("write_file", **arguments)


def _restored(workspace: Workspace, written: Sequence[Change]) -> list[str]:
    """Put every file back; return what could not be."""
    lost = []
    for change in reversed(written):
        try:
            # The check may have changed or deleted it (a formatter): that goes, too.
            now = workspace.digest_of(change.path) if workspace.exists(change.path) else ""
            workspace.write_bytes(change.path, change.data, expect_digest=now)
        except NanocoderError as problem:
            lost.append(f"{change.path} could not be restored: {problem}")
    return lost


def _explained(error: ToolError, lost: Sequence[str]) -> ToolError:
    said = "\n".join(lost) if lost else "all files are as they were before"
    told = type(error)(f"{error}\n[{said}]")
    told.error_class, told.data = error.error_class, error.data
    return told


def _places(count: int) -> str:
    return f"{count} place{'s' if count != 1 else ''}"
