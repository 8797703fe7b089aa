"""The errors of an edit, with the facts that a model needs to correct it."""

from nanocoder import ToolError

from nanocoder_tool_edit.document import line_of
from nanocoder_tool_edit.strategies import MAX_TOLERANT, SHOWN_PLACES, Match

SHOWN_LINES = 8
MAX_LINE = 500


def several_matches(
    path: str, text: str, match: Match, *, can_replace_all: bool = True
) -> ToolError:
    """Return the error for a text that occurs several times."""
    lines = [line_of(text, span.start) for span in match.spans[:SHOWN_PLACES]]
    more = ", \u2026" if len(match.spans) > SHOWN_PLACES else ""
    numbers = ", ".join(map(str, dict.fromkeys(lines)))
    everywhere = ", or set replace_all" if can_replace_all else ""
    advice = (
        f"add lines around it until it is unique{everywhere}"
        if match.strategy == "exact"
        else "copy it from the file exactly, with lines around it"
    )
    like = "occurs" if match.strategy == "exact" else f"is like text ({match.strategy}) that occurs"
    return ToolError(
        f"old_string {like} {len(match.spans)} times in {path!r}, in lines {numbers}{more};"
        f" {advice}",
        error_class="several_matches",
        data={"lines": lines, "count": len(match.spans), "strategy": match.strategy},
    )


def text_not_found(path: str, text: str, old: str, *, can_name_lines: bool = True) -> ToolError:
    """Return the error for a text that is not there, with the lines that are most like it."""
    sizes = f"old_string ({_count(old)}) is not in {path!r} ({_count(text)})"
    if len(old) > MAX_TOLERANT:
        lines = ", or start_line and end_line in edits" if can_name_lines else ""
        return ToolError(
            f"{sizes}; more than {MAX_TOLERANT:,} characters are looked for exactly as they are,"
            f" so give a shorter part{lines}",
            error_class="text_not_found",
        )
    from nanocoder_tool_edit.nearest import find_nearest  # loads rapidfuzz, for a failed edit only

    near = find_nearest(text, old)
    if near is None:
        return ToolError(f"{sizes}; read the file again", error_class="text_not_found")
    region_lines = near.lines[:SHOWN_LINES]
    region = "\n".join(f"{n}\t{line[:MAX_LINE]}" for n, line in enumerate(region_lines, near.first))
    last = near.first + len(near.lines) - 1
    return ToolError(
        f"{sizes}. {near.difference}.\nThe nearest are lines {near.first}-{last}:\n{region}",
        error_class="text_not_found",
        data={"first": near.first, "last": last, "difference": near.difference},
    )


def _count(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    return f"{lines:,} line{'s' if lines != 1 else ''}, {len(text):,} characters"
