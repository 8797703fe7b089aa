"""Calls that run at the same time, each on a thread of its own."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import NanocoderError, SessionInfo, ToolContext, ToolResult, named_paths

BUSY = "busy"
CHECK_S = 0.5
"""Interval at which a waiting call checks for a cancel of the batch, in seconds."""


@frozen
class Call:
    """One call."""

    tool: Annotated[str, "Its name."]
    parameters: Annotated[dict[str, Any], "Its arguments."] = field(factory=dict)

    def paths(self, ctx: ToolContext) -> frozenset[str]:
        """Return the resolved paths among the arguments: two names may be one file."""
        paths = named_paths(self.parameters, patterns=False)
        session = ctx.session or SessionInfo(ctx.session_id, ctx.working_directory)
        return frozenset(session.resolve(path).place for path in paths)


def run_together(
    ctx: ToolContext, calls: Sequence[Call], finished: Callable[[int], None]
) -> list[ToolResult]:
    """Run *calls* at once and return their results in order; a failure is a result, too.

    Calls that name the same path run one after the other, in order. *finished* gets the number of
    calls that are done, after each.
    """
    run = _ParallelRun(ctx, calls)
    threads = [
        threading.Thread(target=run.work, args=(index, finished), daemon=True)
        for index in range(len(calls))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if run.errors:
        raise run.errors[0]
    return [run.results[index] for index in range(len(calls))]


class _ParallelRun:
    def __init__(self, ctx: ToolContext, calls: Sequence[Call]) -> None:
        self.results: dict[int, ToolResult] = {}
        self.errors: list[BaseException] = []
        self._ctx = ctx
        self._calls = calls
        self._paths = [call.paths(ctx) for call in calls]
        self._ended: set[int] = set()
        self._changed = threading.Condition()

    def work(self, index: int, finished: Callable[[int], None]) -> None:
        try:
            self._wait(lambda: self._earlier(index) <= self._ended)
            self.results[index] = self._run(index)
            finished(len(self.results))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self.errors.append(error)
        finally:
            with self._changed:
                self._ended.add(index)
                self._changed.notify_all()

    def _run(self, index: int) -> ToolResult:
        """Run one call; when it is refused as busy, try again after another call has ended."""
        while True:
            before = len(self._ended)
            result = _call(self._ctx, self._calls[index])
            if result.error_class != BUSY or before == len(self._calls) - 1:
                return result
            self._wait(partial(self._has_another_ended, before))

    def _has_another_ended(self, count: int) -> bool:
        return len(self._ended) > count

    def _wait(self, until: Callable[[], bool]) -> None:
        with self._changed:
            while not self._changed.wait_for(until, CHECK_S):
                self._ctx.cancelled.check()

    def _earlier(self, index: int) -> set[int]:
        """Return the earlier calls on the same paths, so that edits of a file stay in order."""
        return {other for other in range(index) if self._paths[index] & self._paths[other]}


def _call(ctx: ToolContext, call: Call) -> ToolResult:
    try:
        return ctx.call(call.tool, call.parameters)
    except NanocoderError as error:
        return ToolResult(str(error), is_error=True, error_class=error.error_class)
