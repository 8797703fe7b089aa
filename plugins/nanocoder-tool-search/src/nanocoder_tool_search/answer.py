"""What a search comes to, as text for the model and as names for the session."""

import re
from collections.abc import Sequence

from nanocoder import ToolInfo, ToolResult

MAX_NAMED = 100
"""How many tools are named when nothing was found."""
SENTENCE_CHARS = 120


def answer(query: str, found: Sequence[ToolInfo], tools: Sequence[ToolInfo]) -> ToolResult:
    """Tell the model what was found; the result's metadata tells the session."""
    names = [one.name for one in found]
    lines = ["You can call these from now on:", *map(_line, found)] if found else [_nothing(tools)]
    unknown = _unknown(query, tools) if query.strip().startswith("select:") else []
    return ToolResult(
        "\n".join([*lines, *unknown]),
        title=f"Tools: {', '.join(names) or 'none'}",
        data={"tools": names},
        metadata={"reveals": names, "count": len(names)},
    )


def _line(one: ToolInfo) -> str:
    return f"- {one.name}: {_first_sentence(one.description)}"


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
    return first if len(first) <= SENTENCE_CHARS else first[: SENTENCE_CHARS - 1] + "…"


def _nothing(tools: Sequence[ToolInfo]) -> str:
    names = [one.name for one in tools if one.deferred]
    if not names:
        return "Nothing was found: you know all tools that there are."
    more = " …" if len(names) > MAX_NAMED else ""
    return f"Nothing was found. There are: {', '.join(names[:MAX_NAMED])}{more}"


def _unknown(query: str, tools: Sequence[ToolInfo]) -> list[str]:
    have = [one.name for one in tools]
    asked = re.split(r"[\s,]+", query.strip().removeprefix("select:").strip())
    return [_missing(name, have) for name in dict.fromkeys(asked) if name and name not in have]


def _missing(name: str, have: Sequence[str]) -> str:
    from difflib import get_close_matches  # only mistakes need it

    close = get_close_matches(name, have, n=3)
    return f"There is no tool {name}" + (f"; is it {' or '.join(close)}?" if close else ".")
