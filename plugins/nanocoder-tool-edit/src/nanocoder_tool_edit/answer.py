"""What an edit answers: the changed region, and what is worth knowing about it."""

from collections.abc import Iterator

from nanocoder import ToolResult, Written
from nanocoder_kit_diff import Part, clip_lines
from nanocoder_kit_diff.syntax import new_fault

from nanocoder_tool_edit.leftovers import SHOWN_PLACES, leftovers
from nanocoder_tool_edit.plan import Plan
from nanocoder_tool_edit.request import Request
from nanocoder_tool_edit.view import CONTEXT_LINES, Region

SHOWN_LINES = 40
SHOWN_REGIONS = 3
KEPT_DIFF_LINES = 2_000
MAX_LINE = 500


def answer(plan: Plan, request: Request, written: Written) -> ToolResult:
    """Describe the edit that was *written*."""
    count = sum(len(found.spans) for found in plan.founds)
    places = [(view.part, region) for view in plan.views for region in view.regions]
    regions = [region for _, region in places]
    diff = plan.diff()
    notes = list(_notes(plan, request))
    return ToolResult(
        "\n".join([_headline(plan, written, count), *_shown(plan, places), *notes]),
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
            "strategy": plan.strategies(),
            "confidence": round(plan.confidence(), 2),
            "edits": [
                {
                    "strategy": found.strategy,
                    "confidence": round(found.confidence, 2),
                    "replacements": len(found.spans),
                }
                for found in plan.founds
            ],
            "first": regions[0].first,
            "last": regions[-1].last,
            "size": written.size,
            "added": diff.added,
            "removed": diff.removed,
            "diff": clip_lines(diff.text, KEPT_DIFF_LINES),
            "backup": str(written.backup or ""),
        },
    )


def _headline(plan: Plan, written: Written, count: int) -> str:
    if written.created:
        size = f"{written.size:,} byte{'' if written.size == 1 else 's'}"
        return f"File created: {written.path} ({size})"
    several = f"{len(plan.founds)} edits, " if len(plan.founds) > 1 else ""
    return f"Edited {written.path}: {several}{count} place{'s' if count != 1 else ''}"


def _shown(plan: Plan, places: list[tuple[Part, Region]]) -> Iterator[str]:
    if plan.file is None:
        return
    shown = 0  # the last line that was shown: regions may lie close together
    for part, region in places[:SHOWN_REGIONS]:
        for number, line in _window(part, region):
            if number > shown:
                yield f"{number}\t{line[:MAX_LINE]}"
                shown = number
        if region.last - region.first >= SHOWN_LINES:
            yield f"[up to line {region.last}]"
    others = places[SHOWN_REGIONS:]
    if others:
        numbers = ", ".join(str(region.first) for _, region in others[:SHOWN_PLACES])
        yield f"[and in {len(others)} more places: lines {numbers}]"


def _window(part: Part, region: Region) -> Iterator[tuple[int, str]]:
    """Yield the lines of *region* and around it, with their numbers."""
    number = region.first
    at = part.new.rfind("\n", 0, region.start) + 1
    while at and number > region.first - CONTEXT_LINES:
        at = part.new.rfind("\n", 0, at - 1) + 1
        number -= 1
    last = min(region.last, region.first + SHOWN_LINES) + CONTEXT_LINES
    while at < len(part.new) and number <= last:
        end = part.new.find("\n", at)
        end = len(part.new) if end < 0 else end
        yield number, part.new[at:end]
        at = end + 1
        number += 1


def _notes(plan: Plan, request: Request) -> Iterator[str]:
    for number, found in enumerate(plan.founds, 1):
        if found.confidence < 1.0:
            which = f"edit {number}: " if len(plan.founds) > 1 else ""
            yield (
                f"[{which}old_string was not there exactly; found by {found.strategy},"
                f" confidence {found.confidence:.2f}: check the lines above]"
            )
    for edit in request.edits:
        for name, lines in (
            leftovers(edit.old_string, edit.new_string, plan.after) if edit.old_string else ()
        ):
            where = ", ".join(map(str, lines[:SHOWN_PLACES]))
            more = ", \u2026" if len(lines) > SHOWN_PLACES else ""
            yield f"[{name!r} is still in line {where}{more}]"
    fault = new_fault(plan.path, plan.before, plan.after)
    if fault:
        yield f"[this edit broke the file: {fault}]"
