"""What an edit answers: the changed region, and what is worth knowing about it."""

from nanocoder import ToolResult, Written
from nanocoder_kit_diff import clip_lines

from nanocoder_tool_edit.leftovers import SHOWN_PLACES, leftovers
from nanocoder_tool_edit.plan import Plan, Request

CONTEXT_LINES = 3
SHOWN_LINES = 40
SHOWN_REGIONS = 3
KEPT_DIFF_LINES = 2_000
MAX_LINE = 500


def answer(plan: Plan, request: Request, written: Written) -> ToolResult:
    """Describe the edit that was *written*."""
    count = len(plan.found.spans)
    regions = _regions(plan)
    diff = plan.diff()
    return ToolResult(
        "\n".join([_headline(plan, written), *_shown(plan, regions), *_notes(plan, request)]),
        title=written.path,
        data={"path": written.path, "replacements": count, "regions": regions},
        metadata={
            "path": written.path,
            "replacements": count,
            "created": written.created,
            "strategy": plan.found.strategy,
            "confidence": round(plan.found.confidence, 2),
            "first": regions[0][0],
            "last": regions[-1][1],
            "size": written.size,
            "added": diff.added,
            "removed": diff.removed,
            "diff": clip_lines(diff.text, KEPT_DIFF_LINES),
            "backup": str(written.backup or ""),
        },
    )


def _headline(plan: Plan, written: Written) -> str:
    if written.created:
        return f"File created: {written.path} ({written.size} bytes)"
    count = len(plan.found.spans)
    return f"Edited {written.path}: {count} place{'s' if count != 1 else ''}"


def _regions(plan: Plan) -> list[list[int]]:
    """Return first and last line of each changed place, in the text after the edit."""
    regions = []
    shift = position = 0
    line = 1
    for span in plan.found.spans:
        start = span.start + shift
        line += plan.after.count("\n", position, start)
        position = start
        inside = span.new.removesuffix("\n").count("\n")
        regions.append([line, line + inside])
        shift += len(span.new) - (span.end - span.start)
    return regions


def _shown(plan: Plan, regions: list[list[int]]) -> list[str]:
    if plan.file is None:
        return []
    lines = plan.after.split("\n")
    if not lines[-1]:
        lines.pop()
    result = []
    for first, last in regions[:SHOWN_REGIONS]:
        start = max(first - 1 - CONTEXT_LINES, 0)
        window = lines[start : last + CONTEXT_LINES][: SHOWN_LINES + 2 * CONTEXT_LINES]
        result += [f"{number}\t{line[:MAX_LINE]}" for number, line in enumerate(window, start + 1)]
        if last - first >= SHOWN_LINES:
            result.append(f"[up to line {last}]")
    if len(regions) > SHOWN_REGIONS:
        others = ", ".join(str(first) for first, _ in regions[SHOWN_REGIONS:][:SHOWN_PLACES])
        result.append(f"[and in {len(regions) - SHOWN_REGIONS} more places: lines {others}]")
    return result


def _notes(plan: Plan, request: Request) -> list[str]:
    notes = []
    if plan.found.confidence < 1.0:
        notes.append(
            f"[old_string was not there exactly; found by {plan.found.strategy},"
            f" confidence {plan.found.confidence:.2f}: check the lines above]"
        )
    for name, lines in leftovers(request.old, request.new, plan.after) if request.old else ():
        where = ", ".join(map(str, lines[:SHOWN_PLACES]))
        more = ", \u2026" if len(lines) > SHOWN_PLACES else ""
        notes.append(f"[{name!r} still stands in line {where}{more}]")
    return notes
