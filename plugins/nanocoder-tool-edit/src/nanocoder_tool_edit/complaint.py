"""Why an edit is not made: what the model needs to know to send a better one."""

from nanocoder import ToolError

from nanocoder_tool_edit.document import line_of
from nanocoder_tool_edit.strategies import MAX_TOLERANT, SHOWN_PLACES, Found

SHOWN_LINES = 8
MAX_LINE = 500


def several(path: str, text: str, found: Found, *, can_replace_all: bool = True) -> ToolError:
    """Return the error for a text that stands in several places."""
    lines = [line_of(text, span.start) for span in found.spans[:SHOWN_PLACES]]
    more = ", \u2026" if len(found.spans) > SHOWN_PLACES else ""
    shown = ", ".join(map(str, dict.fromkeys(lines)))
    everywhere = ", or set replace_all" if can_replace_all else ""
    advice = (
        f"add lines around it until it is unique{everywhere}"
        if found.strategy == "exact"
        else "copy it from the file exactly, with lines around it"
    )
    like = "occurs" if found.strategy == "exact" else f"is like text ({found.strategy}) that occurs"
    return ToolError(
        f"old_string {like} {len(found.spans)} times in {path!r}, in lines {shown}{more}; {advice}",
        error_class="several_matches",
        data={"lines": lines, "count": len(found.spans), "strategy": found.strategy},
    )


def not_found(path: str, text: str, old: str, *, can_name_lines: bool = True) -> ToolError:
    """Return the error for a text that is not there, with the lines that are most like it."""
    sizes = f"old_string ({_count(old)}) is not in {path!r} ({_count(text)})"
    if len(old) > MAX_TOLERANT:
        lines = ", or start_line and end_line in edits" if can_name_lines else ""
        return ToolError(
            f"{sizes}; more than {MAX_TOLERANT:,} characters are looked for exactly as they are,"
            f" so give a shorter part{lines}",
            error_class="text_not_found",
        )
    from nanocoder_tool_edit.nearest import nearest  # loads rapidfuzz, for a failed edit only

    near = nearest(text, old)
    if near is None:
        return ToolError(f"{sizes}; read the file again", error_class="text_not_found")
    shown = near.lines[:SHOWN_LINES]
    region = "\n".join(f"{n}\t{line[:MAX_LINE]}" for n, line in enumerate(shown, near.first))
    last = near.first + len(near.lines) - 1
    return ToolError(
        f"{sizes}. {near.difference}.\nThe nearest are lines {near.first}-{last}:\n{region}",
        error_class="text_not_found",
        data={"first": near.first, "last": last, "difference": near.difference},
    )


def _count(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    return f"{lines:,} line{'s' if lines != 1 else ''}, {len(text):,} characters"
