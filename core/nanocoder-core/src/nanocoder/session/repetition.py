"""Notice a model that repeats itself: in a text without end, or in calls without progress."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nanocoder_schema import canonical_json

from nanocoder.errors import BadArguments
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect, ToolCall, ToolResult

REPEATED_CHARS = 2_000
"""So much of the end of a text must be repetition; less may be a table or a banner."""
MAX_PERIOD_CHARS = 2_000
REPEATS = 3
END_CHARS = 32

SAME_IN_A_ROW = 3
"""In how many turns in a row one call may come to the same result before the run ends."""
SAME_FAILURES = 3
"""How often one call may fail in the same way in a run, with no progress in between."""
SAME_RESULTS = 5
"""How often one call may come to the same result in a run, with no progress in between."""
SAME_IN_A_TURN = 10
SHOWN_CHARS = 200
_TIMES = re.compile(r"\d+(?:\.\d+)? ?(?:s|ms|sec|secs|seconds)\b|\b\d+:\d\d(?:[:.]\d+)*\b")
"""Durations and times of day: an output that differs in these alone counts as the same."""
ALREADY_DONE = "You just made this exact call; its result is above. Do something else now."

Outcome = tuple[str, str]
"""A call and its output."""


def repeats_itself(text: str, least: int = REPEATED_CHARS) -> bool:
    """Tell whether *text* ends in one passage over and over, over *least* characters or more.

    The passage may have up to 2,000 characters. The work is bounded, however long the text is.
    """
    tail = text[-max(least, REPEATS * MAX_PERIOD_CHARS) :]
    # A passage that repeats brings the very end of the text again, one period before it. Most texts
    # have no such place, which one search tells.
    end = tail[-min(END_CHARS, least // 2) :]
    place = tail.rfind(end, 0, len(tail) - 1)
    while place >= 0:
        period = len(tail) - len(end) - place
        size = max(least, REPEATS * period)
        if period > MAX_PERIOD_CHARS or size > len(tail):
            return False
        if tail[-size:-period] == tail[period - size :]:
            return True
        place = tail.rfind(end, 0, place + len(end) - 1)
    return False


class RepetitionGuard:
    """Stops a model that makes the same calls with the same results again and again.

    Polling tools declare themselves `repeatable` and are exempt. Progress is a new call that
    succeeds in changing something: calls that failed until then may work after it.
    """

    def __init__(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        self._tools = tools
        self._last: Outcome = ("", "")
        self._turns_in_a_row = 0
        self._counts: Counter[Outcome] = Counter()
        self._counts_of_commands: Counter[Outcome] = Counter()
        self._changes: set[str] = set()

    def repeated_result(self, call: ToolCall) -> ToolResult | None:
        """Return the result of a reading call that repeats the one right before it.

        None lets it run.
        """
        tool = self._tools.get(call.name)
        if tool is None or tool.repeatable or not tool.is_read_only:
            return None
        if _key(call) != self._last[0]:
            return None
        return ToolResult(
            ALREADY_DONE, title=call.name, metadata={"repeated": True}, call_id=call.id
        )

    def check_turn(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
        """Count the calls of a turn; returns why the run should end, or nothing.

        The same call counts once in a turn: the model made all of them before it saw a result.
        """
        in_turn: Counter[Outcome] = Counter()
        new_turn = 1
        for call, result in zip(calls, results, strict=True):
            tool = self._tools.get(call.name)
            if tool is not None and tool.repeatable:
                self._last, self._turns_in_a_row = ("", ""), 0
                continue
            problem = self._count_in_a_row(call, result, new_turn)
            new_turn = 0
            if not problem and not result.metadata.get("repeated"):
                outcome = _outcome(call, result)
                in_turn[outcome] += 1
                problem = self._count_in_run(call, result, outcome, in_turn[outcome])
            if problem:
                return f"stopped: {problem}"
        return ""

    def _count_in_a_row(self, call: ToolCall, result: ToolResult, new_turn: int) -> str:
        key, output = _key(call), _TIMES.sub("", result.output)
        if result.metadata.get("repeated"):
            output = self._last[1]  # it did not run again, and would have come to the same
        self._turns_in_a_row = self._turns_in_a_row + new_turn if (key, output) == self._last else 1
        self._last = key, output
        if self._turns_in_a_row < SAME_IN_A_ROW:
            return ""
        return (
            f"{call.name} was called in {self._turns_in_a_row} turns in a row with the same"
            f" arguments and the same result{_first_words(result)}"
        )

    def _count_in_run(
        self, call: ToolCall, result: ToolResult, outcome: Outcome, in_turn: int
    ) -> str:
        if in_turn >= SAME_IN_A_TURN:
            times = f"{SAME_IN_A_TURN} times in one reply"
            return f"{call.name} was called {times} with the same arguments and result"
        if in_turn > 1:
            return ""
        tool = self._tools.get(call.name)
        is_command = tool is not None and Effect.EXECUTE in tool.effects
        counts = self._counts_of_commands if is_command else self._counts
        if tool is not None and not result.is_error and not counts[outcome]:
            self._note_progress(call, tool)
        counts[outcome] += 1
        count = counts[outcome]
        if result.is_error and count >= SAME_FAILURES:
            same = "the same fault in its arguments" if _is_bad_call(result) else "the same error"
            return f"{call.name} failed {count} times with {same}{_first_words(result)}"
        if count >= SAME_RESULTS:
            return (
                f"the model repeats itself: {call.name} was called {count} times with the same"
                " arguments and the same result, and nothing new was done in between"
            )
        return ""

    def _note_progress(self, call: ToolCall, tool: Tool[..., Any]) -> None:
        if tool.is_read_only or _key(call) in self._changes:
            return
        self._changes.add(_key(call))
        self._counts_of_commands.clear()
        # A command may have changed nothing, so after it the other calls count on.
        if Effect.EXECUTE not in tool.effects:
            self._counts.clear()


def _key(call: ToolCall) -> str:
    return f"{call.name}\0{call.error}{canonical_json(dict(call.arguments))}"


def _outcome(call: ToolCall, result: ToolResult) -> Outcome:
    # A model that varies the rest of faulty arguments repeats the fault all the same.
    key = f"{call.name}\0" if _is_bad_call(result) else _key(call)
    return key, _TIMES.sub("", result.output)


def _is_bad_call(result: ToolResult) -> bool:
    return result.error_class == BadArguments.error_class


def _first_words(result: ToolResult) -> str:
    """Return the first words of an error, for the person."""
    if not result.is_error or not result.output.strip():
        return ""
    return f": {' '.join(result.output.split())[:SHOWN_CHARS]}"
