"""The answer of an edit: the changed lines, and notes on them."""

from collections.abc import Iterator, Sequence

from nanocoder import ToolResult, Written
from nanocoder_kit_files.diff import Part, clip_lines

from nanocoder_tool_edit.plan import Plan
from nanocoder_tool_edit.request import Request
from nanocoder_tool_edit.stale_names import SHOWN_PLACES, find_stale_names
from nanocoder_tool_edit.view import CONTEXT_LINES, Region

SHOWN_LINES = 40
SHOWN_REGIONS = 3
MAX_DIFF_LINES = 2_000
MAX_LINE = 500


def answer(
    plan: Plan, request: Request, outcome: Written, more_notes: Sequence[str] = ()
) -> ToolResult:
    """Describe the edit with its *outcome*, and *more_notes* that are not empty."""
    count = sum(len(match.spans) for match in plan.matches)
    places = [(view.part, region) for view in plan.views for region in view.regions]
    regions = [region for _, region in places]
    diff = plan.diff()
    # The model knows its own text, unless that was adapted to the file.
    lines = _region_lines(plan, places) if plan.confidence() < 1.0 else ()
    notes = [*_notes(plan, request), *filter(None, more_notes)]
    return ToolResult(
        "\n".join([_headline(plan, outcome, regions), *lines, *notes]),
        title=outcome.path,
        data={
            "path": outcome.path,
            "replacements": count,
            "regions": [[region.first, region.last] for region in regions],
        },
        metadata={
            "path": outcome.path,
            "replacements": count,
            "created": outcome.created,
            "strategy": plan.strategies(),
            "confidence": round(plan.confidence(), 2),
            "edits": [
                {
                    "strategy": match.strategy,
                    "confidence": round(match.confidence, 2),
                    "replacements": len(match.spans),
                }
                for match in plan.matches
            ],
            "first": regions[0].first,
            "last": regions[-1].last,
            "size": outcome.size,
            "added": diff.added,
            "removed": diff.removed,
            "diff": clip_lines(diff.text, MAX_DIFF_LINES),
            "backup": str(outcome.backup or ""),
        },
    )


def _headline(plan: Plan, outcome: Written, regions: Sequence[Region]) -> str:
    if outcome.created:
        size = f"{outcome.size:,} byte{'' if outcome.size == 1 else 's'}"
        return f"File created: {outcome.path} ({size})"
    several = f"{len(plan.matches)} edits, " if len(plan.matches) > 1 else ""
    count = sum(len(match.spans) for match in plan.matches)
    places = f"{count} place{'s' if count != 1 else ''}"
    spans = [_span(region) for region in regions[:SHOWN_PLACES]]
    is_one = spans == [str(regions[0].first)]
    more = ", \u2026" if len(regions) > SHOWN_PLACES else ""
    lines = f"line{'s' * (not is_one)} {', '.join(dict.fromkeys(spans))}{more}"
    return f"Edited {outcome.path}: {several}{places}, {lines}"


def _span(region: Region) -> str:
    return f"{region.first}-{region.last}" if region.last > region.first else str(region.first)


def _region_lines(plan: Plan, places: list[tuple[Part, Region]]) -> Iterator[str]:
    if plan.file is None:
        return
    last_number = 0  # the last line that was shown: regions may lie close together
    for part, region in places[:SHOWN_REGIONS]:
        for number, line in _window(part, region):
            if number > last_number:
                yield f"{number}\t{line[:MAX_LINE]}"
                last_number = number
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
    for number, match in enumerate(plan.matches, 1):
        if match.confidence < 1.0:
            which = f"edit {number}: " if len(plan.matches) > 1 else ""
            yield (
                f"[{which}old_string is not in the file exactly; found by {match.strategy},"
                f" confidence {match.confidence:.2f}: check the lines above]"
            )
    for edit in request.edits:
        for name, lines in (
            find_stale_names(edit.old_string, edit.new_string, plan.after)
            if edit.old_string
            else ()
        ):
            where = ", ".join(map(str, lines[:SHOWN_PLACES]))
            more = ", \u2026" if len(lines) > SHOWN_PLACES else ""
            yield f"[{name!r} is still in line {where}{more}]"
    if plan.file and plan.file.is_guessed:
        yield f"[written as {plan.file.encoding}, which is a guess]"
