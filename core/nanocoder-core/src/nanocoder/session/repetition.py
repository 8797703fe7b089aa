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
    tail = text[-max(least, REPEATS * MAX_PERIOD_CHARS) :][::-1]
    if len(tail) < least:
        return False
    # The failure function of Knuth, Morris and Pratt: its gaps are the periods of each beginning.
    borders = [0] * len(tail)
    border = 0
    for place in range(1, len(tail)):
        letter = tail[place]
        while border and letter != tail[border]:
            border = borders[border - 1]
        border += letter == tail[border]
        borders[place] = border
        size, period = place + 1, place + 1 - border
        if size >= least and size >= REPEATS * period and period <= MAX_PERIOD_CHARS:
            return True
    return False


class RepetitionGuard:
    """Stops a model that makes the same calls with the same results again and again.

    Polling tools declare themselves `repeatable` and are exempt. Progress is a new call that
    succeeds in changing something: calls that failed until then may work after it.
    """

    def __init__(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        self._tools = tools
        self._last = ""
        self._last_result = ""
        self._in_a_row = 0
        self._is_counted = False
        self._outcomes: dict[Outcome, int] = {}
        self._changes: set[str] = set()

    def repeated_result(self, call: ToolCall) -> ToolResult | None:
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

    def check_turn(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
        """Count the calls of a turn; returns why the run should end, or nothing.

        The same call counts once in a turn: the model made all of them before it saw a result.
        """
        self._is_counted = False
        in_turn: Counter[Outcome] = Counter()
        for call, result in zip(calls, results, strict=True):
            self._count_in_a_row(call, result)
            if self._in_a_row >= SAME_IN_A_ROW:
                return (
                    f"stopped: {call.name} was called in {self._in_a_row} turns in a row with the"
                    f" same arguments and the same result{_first_words(result)}"
                )
            problem = self._count_in_run(call, result, in_turn)
            if problem:
                return problem
        return ""

    def _count_in_run(self, call: ToolCall, result: ToolResult, in_turn: Counter[Outcome]) -> str:
        """Count the outcome of *call*; returns why the run should end, or nothing."""
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
            same = "the same fault in its arguments" if _is_bad_call(result) else "the same error"
            return f"stopped: {call.name} failed {count} times with {same}{_first_words(result)}"
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
        # A command may have changed nothing: after it, only the counts of commands start anew.
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

    def _count_in_a_row(self, call: ToolCall, result: ToolResult) -> None:
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
