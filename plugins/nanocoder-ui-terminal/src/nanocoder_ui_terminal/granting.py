"""The extent of a grant: words for it, and their meaning."""

import re
from typing import Final, NamedTuple

from nanocoder import ApprovalRequest

SCOPES: Final = {
    **dict.fromkeys(("o", "once"), ""),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("p", "project"), "project"),
    **dict.fromkeys(("u", "user"), "user"),
}
EXACT: Final = "exact"
TOOL_SCOPES: Final = {
    **dict.fromkeys(("o", "once"), ""),
    **dict.fromkeys(("e", "exact"), EXACT),
    **dict.fromkeys(("s", "session"), "session"),
}
"""Choices for a rule that names a tool and no arguments."""
UNITS_S: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
LONGEST_S: Final = 10 * 366 * 86_400
CHOICES: Final = "[o(nce)/s(ession)/p(roject)/u(ser), with an end: s 5, p 2h, u 7d]"
TOOL_CHOICES: Final = "[o(nce)/e(xactly these arguments)/s(ession), with an end: s 5]"
UNKNOWN: Final = "{!r} is none of these answers"
NOT_GRANTED: Final = "nothing was granted; the call still needs your answer"
_END: Final = r"([1-9][0-9]{0,5})([mhdw]?)"


class Extent(NamedTuple):
    """The scope of a rule, "" for this call alone, and its end; EXACT is for the same arguments.

    It ends after seconds, or in a session after *uses* more calls; 0: no end.
    """

    scope: str
    lasts_s: float = 0.0
    uses: int = 0


def is_for_tool(request: ApprovalRequest) -> bool:
    """Return True if the rule that is offered is a tool, whatever its arguments are."""
    return any("(" not in rule for rule in request.grants)


def choices(request: ApprovalRequest) -> str:
    """Return the answers to the question how far a grant reaches."""
    return TOOL_CHOICES if is_for_tool(request) else CHOICES


def parse_extent(typed: str, *, for_tool: bool = False) -> Extent | None:
    """Parse an extent such as "p", "user 7d" or "s 5"; None for anything else."""
    words, scopes = typed.casefold().split(), TOOL_SCOPES if for_tool else SCOPES
    if not words or words[0] not in scopes:
        return None
    scope, ends = scopes[words[0]], words[1:]
    if not ends:
        return Extent(scope)
    end = re.fullmatch(_END, ends[0])
    if (
        len(ends) > 1
        or end is None
        or scope not in ({"project", "user"} if end[2] else {"session"})
    ):
        return None
    if scope == "session":
        return Extent(scope, uses=int(end[1]))
    lasts_s = int(end[1]) * UNITS_S[end[2]]
    return Extent(scope, float(lasts_s)) if lasts_s <= LONGEST_S else None


def extent_lines(request: ApprovalRequest) -> list[str]:
    """Return the rules that would be granted, and the extents that can be chosen."""
    rules = ", ".join(request.grants)
    lines = [f"from now on, without a question: {rules}", "  o  no, only this once"]
    if is_for_tool(request):
        return [
            *lines,
            "  e  with exactly these arguments, in this session",
            "  s  with any arguments, in this session; s 5: for the next 5 calls",
        ]
    return [
        *lines,
        "  s  in this session; s 5: for the next 5 calls",
        f"  p  in {request.cwd}, until you revoke it (nanocoder grants revoke)",
        "  u  in all your projects, until you revoke it",
    ]
