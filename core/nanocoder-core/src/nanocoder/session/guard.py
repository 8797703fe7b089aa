"""The loop guard: a model that repeats itself without getting further is told, then stopped."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nanocoder_schema import canonical_json

from nanocoder.errors import BadArguments
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect, ToolCall, ToolResult

SAME_IN_A_ROW = 3
"""In how many turns in a row one call may come to the same result before the run ends."""
SAME_FAILURES = 3
"""How often one call may fail in the same way in a run, with no progress in between."""
SAME_RESULTS = 5
"""How often one call may come to the same result in a run, with no progress in between."""
SAME_IN_A_TURN = 10
SHOWN_CHARS = 200
_TIMES = re.compile(r"\d+(?:\.\d+)? ?(?:s|ms|sec|secs|seconds)\b|\b\d+:\d\d(?:[:.]\d+)*\b")
"""How long something took, and when: a command that says so does not get further by that."""
ALREADY_DONE = "You just made this exact call; its result is above. Do something else now."

Outcome = tuple[str, str]
"""A call, and what it came to."""


class Guard:
    """Watches the calls of one run.

    Polling tools declare themselves `repeatable` and are exempt. Progress is a call that succeeds
    in changing something and was not made before: what failed until then may work after it.
    """

    def __init__(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        self._tools = tools
        self._last = ""
        self._last_result = ""
        self._in_a_row = 0
        self._is_counted = False
        self._outcomes: dict[Outcome, int] = {}
        self._changes: set[str] = set()

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
        in_turn: Counter[Outcome] = Counter()
        for call, result in zip(calls, results, strict=True):
            self._note_row(call, result)
            if self._in_a_row >= SAME_IN_A_ROW:
                return (
                    f"stopped: {call.name} was called in {self._in_a_row} turns in a row with the"
                    f" same arguments and the same result{_shown(result)}"
                )
            problem = self._note_run(call, result, in_turn)
            if problem:
                return problem
        return ""

    def _note_run(self, call: ToolCall, result: ToolResult, in_turn: Counter[Outcome]) -> str:
        """Count what *call* came to over the run; returns why the run should end, or nothing."""
        if self._is_repeatable(call) or result.metadata.get("repeated"):
            return ""
        outcome = _outcome(call, result)
        in_turn[outcome] += 1
        if in_turn[outcome] >= SAME_IN_A_TURN:
            times = f"{SAME_IN_A_TURN} times in one reply"
            return f"stopped: {call.name} was called {times} with the same arguments and result"
        if in_turn[outcome] > 1:
            return ""
        count = self._outcomes.get(outcome, 0) + 1
        if not result.is_error and count == 1:
            self._note_progress(call)
        self._outcomes[outcome] = count
        if result.is_error and count >= SAME_FAILURES:
            what = "the same fault in its arguments" if _is_misfit(result) else "the same error"
            return f"stopped: {call.name} failed {count} times with {what}{_shown(result)}"
        if count >= SAME_RESULTS:
            return (
                f"stopped: the model repeats itself: {call.name} was called {count} times with the"
                f" same arguments and the same result, and nothing new was done in between"
            )
        return ""

    def _note_progress(self, call: ToolCall) -> None:
        tool = self._tools.get(call.name)
        if tool is None or tool.is_read_only or _key(call) in self._changes:
            return
        self._changes.add(_key(call))
        # A command may do anything or nothing: after it only commands count anew.
        only_commands = Effect.EXECUTE in tool.effects
        self._outcomes = {
            outcome: count
            for outcome, count in self._outcomes.items()
            if only_commands and not self._executes(outcome)
        }

    def _executes(self, outcome: Outcome) -> bool:
        tool = self._tools.get(outcome[0].partition("\0")[0])
        return tool is not None and Effect.EXECUTE in tool.effects

    def _is_repeatable(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.repeatable

    def _note_row(self, call: ToolCall, result: ToolResult) -> None:
        if self._is_repeatable(call):
            self._last, self._in_a_row = "", 0
            return
        key = _key(call)
        is_repeated = bool(result.metadata.get("repeated"))
        output = _TIMES.sub("", result.output)
        is_same = key == self._last and (is_repeated or output == self._last_result)
        self._in_a_row = self._in_a_row + (not self._is_counted) if is_same else 1
        self._is_counted = True
        self._last = key
        if not is_repeated:
            self._last_result = output


def _key(call: ToolCall) -> str:
    return f"{call.name}\0{call.error}{canonical_json(dict(call.arguments))}"


def _outcome(call: ToolCall, result: ToolResult) -> Outcome:
    # One fault is one fault, whatever else is in the arguments.
    what = f"{call.name}\0" if _is_misfit(result) else _key(call)
    return what, _TIMES.sub("", result.output)


def _is_misfit(result: ToolResult) -> bool:
    return result.error_class == BadArguments.error_class


def _shown(result: ToolResult) -> str:
    """Return the first words of an error, for the person."""
    if not result.is_error or not result.output.strip():
        return ""
    return f": {' '.join(result.output.split())[:SHOWN_CHARS]}"
