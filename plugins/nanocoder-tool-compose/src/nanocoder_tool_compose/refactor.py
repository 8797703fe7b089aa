"""Replacing a name in several files, with a check afterwards."""

import re
from collections.abc import Mapping, Sequence

from attrs import frozen
from nanocoder import ToolContext, ToolError, ToolResult, Workspace, clip
from nanocoder_kit_diff import clip_lines, unified

from nanocoder_tool_compose.steps import Steps

KEPT_DIFF_LINES = 2_000
CHECK_CHARS = 4_000
MAX_OLD_CHARS = 10_000
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
    """One file: *text* before and *after*, *count* places."""

    path: str
    text: str
    after: str
    count: int


def refactor(ctx: ToolContext, wanted: Refactor) -> ToolResult:
    """Read all files, replace, write, check.

    Raises: ToolError, and it is the call's transaction that puts every file back.
    """
    steps = Steps(ctx)
    for path in wanted.files:
        steps.take("read_file", path=path)
    changes = plan(ctx.workspace, wanted)
    for change in changes:
        ctx.cancelled.check()
        _write(steps, change)
    checked = steps.take("bash", command=wanted.check)
    ctx.cancelled.check()
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
            "diff": clip_lines(diff_of(changes), KEPT_DIFF_LINES),
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
    if len(wanted.old) > MAX_OLD_CHARS:
        # To compile 10 MB takes many seconds, and a preview has no limit.
        raise ToolError(
            f"the old text has {len(wanted.old):,} characters; give at most {MAX_OLD_CHARS:,}",
            error_class="invalid_arguments",
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
        changes[file.path] = Change(file.path, file.text, after, count)
    return list(changes.values())


def pattern_of(old: str) -> re.Pattern[str]:
    """Return what finds *old*; as a whole word where it begins or ends like one."""
    before = r"(?<!\w)" if re.match(r"\w", old) else ""
    behind = r"(?!\w)" if re.search(r"\w\Z", old) else ""
    return re.compile(before + re.escape(old) + behind)


def diff_of(changes: Sequence[Change]) -> str:
    """Return one diff of all *changes*."""
    return "\n".join(unified(change.text, change.after, change.path).text for change in changes)


def _write(steps: Steps, change: Change) -> None:
    arguments: Mapping[str, str] = {"path": change.path, "content": change.after}
    try:
        steps.take("write_file", **arguments)
    except ToolError as error:
        # A rename does lose the old name; once the file was read again, write_file believes it.
        if error.error_class != LOST_DEFINITIONS:
            raise
        steps.take("read_file", path=change.path)
        steps.take("write_file", **arguments)


def _places(count: int) -> str:
    return f"{count} place{'s' if count != 1 else ''}"
