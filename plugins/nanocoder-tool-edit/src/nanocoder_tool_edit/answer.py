"""What an edit answers: the changed region, and what is worth knowing about it."""

from attrs import frozen
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
        data={
            "path": written.path,
            "replacements": count,
            "regions": [[region.first, region.last] for region in regions],
        },
        metadata={
            "path": written.path,
            "replacements": count,
            "created": written.created,
            "strategy": plan.found.strategy,
            "confidence": round(plan.found.confidence, 2),
            "first": regions[0].first,
            "last": regions[-1].last,
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


@frozen
class Region:
    """The changed lines *first* to *last*, and where in the new text the change begins."""

    first: int
    last: int
    start: int


def _regions(plan: Plan) -> list[Region]:
    """Return each changed place, in the text after the edit."""
    regions = []
    shift = position = 0
    line = 1
    for span in plan.found.spans:
        start = span.start + shift
        line += plan.after.count("\n", position, start)
        position = start
        inside = span.new.removesuffix("\n").count("\n")
        regions.append(Region(line, line + inside, start))
        shift += len(span.new) - (span.end - span.start)
    return regions


def _shown(plan: Plan, regions: list[Region]) -> list[str]:
    if plan.file is None:
        return []
    result = []
    for region in regions[:SHOWN_REGIONS]:
        result += _window(plan.after, region)
        if region.last - region.first >= SHOWN_LINES:
            result.append(f"[up to line {region.last}]")
    if len(regions) > SHOWN_REGIONS:
        others = regions[SHOWN_REGIONS:]
        numbers = ", ".join(str(region.first) for region in others[:SHOWN_PLACES])
        result.append(f"[and in {len(others)} more places: lines {numbers}]")
    return result


def _window(text: str, region: Region) -> list[str]:
    """Return the lines of *region* and around it, without cutting all of *text* into lines."""
    number = region.first
    at = text.rfind("\n", 0, region.start) + 1
    while at and number > region.first - CONTEXT_LINES:
        at = text.rfind("\n", 0, at - 1) + 1
        number -= 1
    last = min(region.last, region.first + SHOWN_LINES) + CONTEXT_LINES
    lines = []
    while at < len(text) and number <= last:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        lines.append(f"{number}\t{text[at:end][:MAX_LINE]}")
        at = end + 1
        number += 1
    return lines


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
