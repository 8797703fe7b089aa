"""Calls that run at the same time, each on a thread of its own."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import NanocoderError, SessionInfo, ToolContext, ToolResult, named_paths

BUSY = "busy"
LOOK_S = 0.5


@frozen
class Call:
    """One call."""

    tool: Annotated[str, "Its name."]
    parameters: Annotated[dict[str, Any], "Its arguments."] = field(factory=dict)

    def paths(self, ctx: ToolContext) -> frozenset[str]:
        """Return where the paths among the arguments lead: two names may be one file."""
        paths = named_paths(self.parameters, patterns=False)
        session = ctx.session or SessionInfo(ctx.session_id, ctx.working_directory)
        return frozenset(session.resolve(path).place for path in paths)


def run_together(
    ctx: ToolContext, calls: Sequence[Call], finished: Callable[[int], None]
) -> list[ToolResult]:
    """Run *calls* at once and return their results in order; a failure is a result, too.

    Calls that name the same path run one after the other, in order. *finished* is told how many
    are done.
    """
    crew = _Crew(ctx, calls)
    threads = [
        threading.Thread(target=crew.work, args=(index, finished), daemon=True)
        for index in range(len(calls))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if crew.broken:
        raise crew.broken[0]
    return [crew.results[index] for index in range(len(calls))]


class _Crew:
    def __init__(self, ctx: ToolContext, calls: Sequence[Call]) -> None:
        self.results: dict[int, ToolResult] = {}
        self.broken: list[BaseException] = []
        self._ctx = ctx
        self._calls = calls
        self._paths = [call.paths(ctx) for call in calls]
        self._over: set[int] = set()
        self._changed = threading.Condition()

    def work(self, index: int, finished: Callable[[int], None]) -> None:
        try:
            self._wait(lambda: self._before(index) <= self._over)
            self.results[index] = self._attempted(index)
            finished(len(self.results))
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self.broken.append(error)
        finally:
            with self._changed:
                self._over.add(index)
                self._changed.notify_all()

    def _attempted(self, index: int) -> ToolResult:
        """Run one call; while the others of the batch are what is too much, it waits for them."""
        while True:
            before = len(self._over)
            result = _result(self._ctx, self._calls[index])
            if result.error_class != BUSY or before == len(self._calls) - 1:
                return result
            self._wait(partial(self._has_ended_more, before))

    def _has_ended_more(self, count: int) -> bool:
        return len(self._over) > count

    def _wait(self, until: Callable[[], bool]) -> None:
        with self._changed:
            while not self._changed.wait_for(until, LOOK_S):
                self._ctx.cancelled.check()

    def _before(self, index: int) -> set[int]:
        """Return the earlier calls about the same paths: two edits of a file keep their order."""
        return {one for one in range(index) if self._paths[index] & self._paths[one]}


def _result(ctx: ToolContext, call: Call) -> ToolResult:
    try:
        return ctx.call(call.tool, call.parameters)
    except NanocoderError as error:
        return ToolResult(str(error), is_error=True, error_class=error.error_class)
