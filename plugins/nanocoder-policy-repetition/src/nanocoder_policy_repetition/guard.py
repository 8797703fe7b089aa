"""Detection of equal calls with equal results, with advice before the end of the run."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from nanocoder import Effect, Tool, ToolCall, ToolResult

SAME_IN_A_TURN: Final = 10
ADVISED: Final = 3
"""Number of equal results in a row from which the model is advised."""
SHOWN_CHARS: Final = 200
INVALID: Final = "invalid_arguments"
TIMES: Final = r"\d+(?:\.\d+)? ?(?:s|ms|sec|secs|seconds)\b|\b\d+:\d\d(?:[:.]\d+)*\b"
"""Durations and times of day: outputs that differ only in these are equal."""
TRACE_OF_TIMES: Final = r"\d(?: ?m?s|:\d\d)"
"""Part of every match of TIMES. It begins with one class, by which `re` skips the rest fast."""

Outcome = tuple[str, str]
"""A call and its output."""


class Limits(NamedTuple):
    """Limits of a call's equal results before the run ends.

    *in_a_row* counts consecutive turns; *failures* and *results* count in a run, without progress
    in between.
    """

    in_a_row: int
    failures: int
    results: int


SMALL: Final = Limits(3, 3, 5)
"""A small model does not heed advice."""
FULL: Final = Limits(6, 6, 8)
COMMANDS: Final = Limits(20, 12, 30)
"""Limits of commands: tests and polls have equal results for good reasons."""


class Ran(NamedTuple):
    """A call that ran, with its final arguments; *output* identifies its result, without times.

    *key* is equal for equal calls.
    """

    call: ToolCall
    tool: Tool[..., Any]
    output: str
    key: str


class Occurrence(NamedTuple):
    """A call of a turn with its key and its result, which *output* identifies."""

    call: ToolCall
    key: str
    result: ToolResult
    output: str

    @property
    def outcome(self) -> Outcome:
        """The key by which equal calls with equal results are counted."""
        # A model that varies only other arguments of an invalid call repeats the fault.
        return f"{self.call.name}\0" if _is_bad_call(self.result) else self.key, self.output


class Guard:
    """Counts the calls of one session since the user's latest message.

    Polling tools declare themselves `repeatable` and are exempt. Progress is a new call that
    succeeds in changing something: calls that failed until then may work after it.
    """

    def __init__(self, *, is_small: bool = False) -> None:
        self._is_small = is_small
        self.reset()

    def reset(self) -> None:
        """Clear all counts, because the user sent a new message."""
        self._ran: dict[str, Ran] = {}
        self._tools: dict[str, Tool[..., Any]] = {}
        self._checked = ""
        self._last: Outcome = ("", "")
        self._turns_in_a_row = 0
        self._counts: Counter[Outcome] = Counter()
        self._counts_of_commands: Counter[Outcome] = Counter()
        self._changes: set[str] = set()

    def note(self, call: ToolCall, tool: Tool[..., Any], output: str) -> int:
        """Record a call that ran; return the number of consecutive turns with this result.

        Called from any thread. Calls of a polling tool are counted once.
        """
        self._tools[tool.name] = tool
        ran = self._ran[call.id] = Ran(call, tool, _identity(output), _key(call))
        if tool.repeatable or (ran.key, ran.output) != self._last:
            return 1
        return self._turns_in_a_row + 1

    def check_turn(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
        """Count the calls of a turn, once; return the reason to end the run, or "".

        Equal calls of a turn are counted once: the model made all of them before it saw a result.
        """
        if not calls or calls[-1].id == self._checked:
            return ""
        self._checked = calls[-1].id
        ran, self._ran = self._ran, {}
        in_turn: Counter[Outcome] = Counter()
        new_turn = 1
        for model_call, result in zip(calls, results, strict=False):
            # A dialect's calls have other names and arguments than the calls that ran.
            it = ran.get(model_call.id)
            call, key = (it.call, it.key) if it else (model_call, _key(model_call))
            tool = self._tools.get(call.name)
            if tool is not None and tool.repeatable:
                self._last, self._turns_in_a_row = ("", ""), 0
                continue
            latest = Occurrence(call, key, result, it.output if it else _identity(result.output))
            problem = self._count_in_a_row(latest, new_turn)
            new_turn = 0
            if not problem:
                in_turn[latest.outcome] += 1
                problem = self._count_in_run(latest, in_turn[latest.outcome])
            if problem:
                return problem
        return ""

    def _count_in_a_row(self, latest: Occurrence, new_turn: int) -> str:
        call, key, result, output = latest
        self._turns_in_a_row = self._turns_in_a_row + new_turn if (key, output) == self._last else 1
        self._last = key, output
        if self._turns_in_a_row < self._limits(call.name).in_a_row:
            return ""
        return (
            f"{call.name} was called in {self._turns_in_a_row} turns in a row with the same"
            f" arguments and the same result{_first_words(result)}"
        )

    def _count_in_run(self, latest: Occurrence, in_turn: int) -> str:
        call, result, outcome = latest.call, latest.result, latest.outcome
        if in_turn >= SAME_IN_A_TURN:
            times = f"{SAME_IN_A_TURN} times in one reply"
            return f"{call.name} was called {times} with the same arguments and result"
        if in_turn > 1:
            return ""
        tool, limits = self._tools.get(call.name), self._limits(call.name)
        counts = self._counts_of_commands if self._is_command(call.name) else self._counts
        if tool is not None and not result.is_error and not counts[outcome]:
            self._record_progress(latest.key, tool)
        counts[outcome] += 1
        count = counts[outcome]
        if result.is_error and count >= limits.failures:
            same = "the same fault in its arguments" if _is_bad_call(result) else "the same error"
            return f"{call.name} failed {count} times with {same}{_first_words(result)}"
        if count >= limits.results:
            return (
                f"the model repeats itself: {call.name} was called {count} times with the same"
                " arguments and the same result, and nothing new was done in between"
            )
        return ""

    def _is_command(self, name: str) -> bool:
        tool = self._tools.get(name)
        return tool is not None and Effect.EXECUTE in tool.effects

    def _limits(self, name: str) -> Limits:
        if self._is_small:
            return SMALL
        return COMMANDS if self._is_command(name) else FULL

    def _record_progress(self, key: str, tool: Tool[..., Any]) -> None:
        if tool.is_read_only or key in self._changes:
            return
        self._changes.add(key)
        self._counts_of_commands.clear()
        # A command may have changed nothing, so after it the other calls count on.
        if Effect.EXECUTE not in tool.effects:
            self._counts.clear()


def _identity(output: str) -> str:
    text = re.sub(TIMES, "", output) if re.search(TRACE_OF_TIMES, output) else output
    return f"{len(text)} {hash(text)}"


def _key(call: ToolCall) -> str:
    arguments = json.dumps(dict(call.arguments), sort_keys=True, default=str)
    return f"{call.name}\0{call.error}{arguments}"


def _is_bad_call(result: ToolResult) -> bool:
    return result.error_class == INVALID


def _first_words(result: ToolResult) -> str:
    """Return the first words of an error, for the person."""
    if not result.is_error or not result.output.strip():
        return ""
    return f": {' '.join(result.output.split())[:SHOWN_CHARS]}"
