"""Calls that run at the same time, each on a thread of its own."""

import posixpath
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import NanocoderError, ToolContext, ToolResult

PATHS = ("path", "file_path", "source", "destination", "target", "workdir")


@frozen
class Call:
    """One call."""

    tool: Annotated[str, "Its name."]
    parameters: Annotated[dict[str, Any], "Its arguments."] = field(factory=dict)

    @property
    def paths(self) -> frozenset[str]:
        """The paths among the arguments, in one spelling."""
        values = (self.parameters.get(name) for name in PATHS)
        return frozenset(posixpath.normpath(value) for value in values if isinstance(value, str))


def run_together(
    ctx: ToolContext, calls: Sequence[Call], finished: Callable[[int], None]
) -> list[ToolResult]:
    """Run *calls* at once and return their results in order; a failure is a result, too.

    Calls that name the same path run one after the other, in order. *finished* is told how many
    are done.
    """
    results: dict[int, ToolResult] = {}
    over = [threading.Event() for _ in calls]
    broken: list[BaseException] = []

    def work(index: int) -> None:
        try:
            for earlier in _before(calls, index):
                over[earlier].wait()
            results[index] = _result(ctx, calls[index])
            finished(len(results))
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            broken.append(error)
        finally:
            over[index].set()

    places = range(len(calls))
    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return [results[index] for index in places]


def _before(calls: Sequence[Call], index: int) -> list[int]:
    """Return the earlier calls about the same paths: two edits of a file keep their order."""
    mine = calls[index].paths
    return [earlier for earlier in range(index) if mine & calls[earlier].paths]


def _result(ctx: ToolContext, call: Call) -> ToolResult:
    try:
        return ctx.call(call.tool, call.parameters)
    except NanocoderError as error:
        return ToolResult(str(error), is_error=True, error_class=error.error_class)
