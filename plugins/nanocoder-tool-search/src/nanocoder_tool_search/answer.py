"""The answer of a search: text for the model, and names for the session."""

import re
from collections.abc import Collection, Sequence

from nanocoder import ToolInfo, ToolResult, did_you_mean

MAX_NAMED = 100
"""The most tools that are named when none fits."""
SENTENCE_CHARS = 120


def answer(
    query: str, matches: Sequence[ToolInfo], tools: Sequence[str], deferred: Collection[str]
) -> ToolResult:
    """Return the list of *matches*; later requests offer the tools named in its metadata."""
    names = [match.name for match in matches]
    others = [name for name in tools if name in deferred and name not in names]
    lines = (
        ["You can call these from now on:", *map(_line, matches)]
        if matches
        else [_explain_empty_result(others)]
    )
    unknown = _unknown_names(query, tools) if query.strip().startswith("select:") else []
    return ToolResult(
        "\n".join([*lines, *unknown]),
        title=f"Tools: {', '.join(names) or 'none'}",
        data={"tools": names},
        metadata={"reveals": names, "count": len(names)},
    )


def _line(match: ToolInfo) -> str:
    return f"- {match.name}: {_first_sentence(match.description)}"


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
    return first if len(first) <= SENTENCE_CHARS else first[: SENTENCE_CHARS - 1] + "…"


def _explain_empty_result(names: Sequence[str]) -> str:
    if not names:
        return "No tool found: you have all the tools that there are."
    more = " …" if len(names) > MAX_NAMED else ""
    listed = ", ".join(names[:MAX_NAMED])
    return f"No tool found. There are, each to be called by its name: {listed}{more}"


def _unknown_names(query: str, tools: Sequence[str]) -> list[str]:
    names = re.split(r"[\s,]+", query.strip().removeprefix("select:").strip())
    return [
        _suggest_names(name, tools) for name in dict.fromkeys(names) if name and name not in tools
    ]


def _suggest_names(name: str, existing: Sequence[str]) -> str:
    return f"There is no tool {name}{did_you_mean(name, existing, '.', limit=3)}"
