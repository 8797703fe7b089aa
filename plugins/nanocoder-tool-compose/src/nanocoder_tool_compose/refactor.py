"""Replace a name in several files, with a check afterwards."""

import re
from collections.abc import Mapping, Sequence

from attrs import frozen
from nanocoder import ToolContext, ToolError, ToolResult, Workspace, clip, counted
from nanocoder_kit_files.diff import clip_lines, unified
from nanocoder_kit_files.text import read_text_file

from nanocoder_tool_compose.steps import Steps

MAX_DIFF_LINES = 2_000
CHECK_CHARS = 4_000
MAX_OLD_CHARS = 10_000
LOST_DEFINITIONS = "lost_definitions"


@frozen
class Refactor:
    """The request of atomic_refactor."""

    files: Sequence[str]
    old: str
    new: str
    check: str


@frozen
class Change:
    """One file: *text* before and *after*, with *count* matches; *digest* is of the old bytes."""

    path: str
    text: str
    after: str
    count: int
    digest: str


def refactor(ctx: ToolContext, request: Refactor) -> ToolResult:
    """Read all files, replace, write, check.

    Raises: ToolError; the call's transaction then restores every file.
    """
    steps = Steps(ctx)
    for path in request.files:
        steps.run("read_file", path=path)
    changes = plan(ctx.workspace, request)
    for change in changes:
        ctx.cancelled.check()
        _write(steps, change)
    # A check may write: tests fill a cache, a formatter changes the files.
    check_result = steps.run("bash", command=request.check, access="write")
    ctx.cancelled.check()
    counts = {change.path: change.count for change in changes}
    total = f"{counted(sum(counts.values()), 'place')} in {counted(len(counts), 'file')}"
    check_output = clip(check_result.output, head=CHECK_CHARS // 2, tail=CHECK_CHARS // 2)
    return ToolResult(
        "\n".join(
            [
                f"Replaced {request.old!r} by {request.new!r}: {total}; the check passed",
                check_output,
            ]
        ),
        title=f"{len(changes)} file{'s' if len(changes) != 1 else ''}",
        data={"steps": steps.log, "places": counts},
        metadata={
            "files_changed": list(counts),
            "places": sum(counts.values()),
            "diff": clip_lines(diff_of(changes), MAX_DIFF_LINES),
        },
    )


def plan(workspace: Workspace, request: Refactor) -> list[Change]:
    """Find every match in every file.

    Raises: ToolError (text_not_found, invalid_arguments), WorkspaceError.
    """
    if not (request.check.strip() and request.files and request.old):
        raise ToolError(
            "give files, the old text and a command that checks", error_class="invalid_arguments"
        )
    if len(request.old) > MAX_OLD_CHARS:
        # Compiling a pattern of 10 MB takes many seconds, and a preview has no time limit.
        raise ToolError(
            f"the old text has {len(request.old):,} characters; give at most {MAX_OLD_CHARS:,}",
            error_class="invalid_arguments",
        )
    pattern = pattern_of(request.old)
    changes: dict[str, Change] = {}
    for path in request.files:
        file = read_text_file(workspace, path, note=False)
        after, count = pattern.subn(lambda _: request.new, file.text)
        if after == file.text:
            raise ToolError(
                f"nothing was changed: {request.old!r} is not in {file.path!r}, or is replaced by"
                " itself; give only files that have it",
                error_class="text_not_found",
            )
        changes[file.path] = Change(file.path, file.text, after, count, file.digest)
    return list(changes.values())


def pattern_of(old: str) -> re.Pattern[str]:
    """Return a pattern for *old*, which is a whole word where it begins or ends like one."""
    before = r"(?<!\w)" if re.match(r"\w", old) else ""
    behind = r"(?!\w)" if re.search(r"\w\Z", old) else ""
    return re.compile(before + re.escape(old) + behind)


def diff_of(changes: Sequence[Change]) -> str:
    """Return one diff of all *changes*."""
    return "\n".join(unified(change.text, change.after, change.path).text for change in changes)


def _write(steps: Steps, change: Change) -> None:
    arguments: Mapping[str, str] = {"path": change.path, "content": change.after}
    # The replacement saw all lines, of which the step before has shown the first.
    steps.ctx.workspace.note_read(change.path, change.digest)
    try:
        steps.run("write_file", **arguments)
    except ToolError as error:
        # A rename does drop the old name.
        if error.error_class != LOST_DEFINITIONS:
            raise
        steps.ctx.workspace.note_read(change.path, change.digest)
        steps.run("write_file", **arguments)
