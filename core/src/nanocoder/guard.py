"""The loop guard: who repeats a call without getting further is told so, then stopped."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nanocoder.schema import canonical_json
from nanocoder.tool import Tool
from nanocoder.values import ToolCall, ToolResult

SAME_IN_A_ROW = 3
"""In how many turns in a row one call may come to the same result before the run ends."""
_TIMES = re.compile(r"\d+(?:\.\d+)? ?(?:s|ms|sec|secs|seconds)\b|\b\d+:\d\d(?:[:.]\d+)*\b")
"""How long something took, and when: a command that says so does not get further by that."""
ALREADY_DONE = (
    "Already done: the same call ran right before this one and its result stands above."
    " Take the next action."
)


class Guard:
    """Watches the calls of one run.

    Polling tools declare themselves `repeatable` and are exempt.
    """

    def __init__(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        self._tools = tools
        self._last = ""
        self._last_result = ""
        self._count = 0
        self._is_counted = False

    def answered(self, call: ToolCall) -> ToolResult | None:
        """Return the result of a reading call that repeats the one right before it.

        None lets it run.
        """
        tool = self._tools.get(call.name)
        if tool is None or tool.repeatable or not tool.is_read_only:
            return None
        if _key(call) != self._last:
            return None
        return ToolResult(
            ALREADY_DONE, title=call.name, metadata={"repeated": True}, call_id=call.id
        )

    def seen(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
        """Take note of a turn; returns why the run should end, or nothing.

        The same call counts once in it: the model wanted all of them before it saw a result.
        """
        self._is_counted = False
        for call, result in zip(calls, results, strict=True):
            self._note(call, result)
            if self._count >= SAME_IN_A_ROW:
                return (
                    f"stopped: {call.name} was called in {self._count} turns in a row"
                    " with the same arguments and the same result"
                )
        return ""

    def _note(self, call: ToolCall, result: ToolResult) -> None:
        tool = self._tools.get(call.name)
        if tool is not None and tool.repeatable:
            self._last, self._count = "", 0
            return
        key = _key(call)
        repeated = bool(result.metadata.get("repeated"))
        output = _TIMES.sub("", result.output)
        same = key == self._last and (repeated or output == self._last_result)
        self._count = self._count + (not self._is_counted) if same else 1
        self._is_counted = True
        self._last = key
        if not repeated:
            self._last_result = output


def _key(call: ToolCall) -> str:
    return call.name + call.error + canonical_json(dict(call.arguments))
