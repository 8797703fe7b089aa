"""The finish reasons of replies, as vendors and servers spell them."""

import re
from enum import Enum, auto
from typing import Final


class End(Enum):
    """The meaning of a finish reason; one that matches no pattern is DONE."""

    DONE = auto()
    CUT = auto()  # a token limit; the model continues when the answer is sent back
    FILTERED = auto()
    FAILED = auto()  # the server failed; the text so far is no answer


_PATTERNS: Final = (
    (End.FAILED, r"error|abort|cancel|fail|insufficient|malformed|timeout|time_out|unspecified"),
    (End.FAILED, r"^other$|unexpected_tool_call|too_many_tool_calls|missing_thought_signature"),
    (End.CUT, r"length|max_?(?:output_?)?tokens|token_?limit|context_window|pause_turn"),
    (End.FILTERED, r"filter|content_policy|safety|sensitive|refus|guardrail|blocklist|prohibited"),
    (End.FILTERED, r"recitation|^spii$|blocked"),
)


def end_of(reason: str) -> End:
    """Return the meaning of the finish *reason* of a reply."""
    lower = reason.lower()
    return next((end for end, pattern in _PATTERNS if re.search(pattern, lower)), End.DONE)
