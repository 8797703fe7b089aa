"""Calls that run at the same time, each on a thread of its own."""

import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import NanocoderError, SessionInfo, ToolContext, ToolResult

PATHS = ("path", "paths", "file_path", "files", "source", "destination", "target", "workdir")


@frozen
class Call:
    """One call."""

    tool: Annotated[str, "Its name."]
    parameters: Annotated[dict[str, Any], "Its arguments."] = field(factory=dict)

    def paths(self, ctx: ToolContext) -> frozenset[str]:
        """Return where the paths among the arguments lead: two names may be one file."""
        values = [self.parameters.get(name) for name in PATHS]
        texts = [
            text for value in values for text in (value if isinstance(value, list) else [value])
        ]
        session = ctx.session or SessionInfo(ctx.session_id, ctx.working_directory)
        return frozenset(session.resolve(text).place for text in texts if isinstance(text, str))


def run_together(
    ctx: ToolContext, calls: Sequence[Call], finished: Callable[[int], None]
) -> list[ToolResult]:
    """Run *calls* at once and return their results in order; a failure is a result, too.

    Calls that name the same path run one after the other, in order. *finished* is told how many
    are done.
    """
    results: dict[int, ToolResult] = {}
    paths = [call.paths(ctx) for call in calls]
    over = [threading.Event() for _ in calls]
    broken: list[BaseException] = []

    def work(index: int) -> None:
        try:
            for earlier in _before(paths, index):
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


def _before(paths: Sequence[frozenset[str]], index: int) -> list[int]:
    """Return the earlier calls about the same paths: two edits of a file keep their order."""
    return [earlier for earlier in range(index) if paths[index] & paths[earlier]]


def _result(ctx: ToolContext, call: Call) -> ToolResult:
    try:
        return ctx.call(call.tool, call.parameters)
    except NanocoderError as error:
        return ToolResult(str(error), is_error=True, error_class=error.error_class)
