"""The installed tools in the dialect s02, as a dictionary of functions."""

from collections.abc import Callable
from functools import partial
from typing import Any

from nanocoder import Dialect, NanocoderError, Session, ToolCall, ToolResult, UsageError

DIALECT = "s02"


class Tools:
    """The tools on offer: *definitions* for the model, *handlers* for the loop.

    A handler takes the parameters of its definition by name and returns text; each call is
    validated, judged by the policies, approved and journaled by the session.
    """

    def __init__(self, session: Session) -> None:
        dialect = session.plugins.offered("dialects", DIALECT)
        if dialect is None:
            raise UsageError(f"the dialect {DIALECT!r} is not installed")
        self._session = session
        self._dialect: Dialect = dialect[1]
        offers = self._dialect.offer(list(session.tools.values()))
        self.definitions = [
            {
                "name": offer["name"],
                "description": offer["description"],
                "input_schema": offer["parameters"],
            }
            for offer in offers
        ]
        self.handlers: dict[str, Callable[..., str]] = {
            offer["name"]: partial(self._run, offer["name"]) for offer in offers
        }

    def _run(self, tool_name: str, /, **arguments: Any) -> str:
        call = ToolCall("call", tool_name, arguments)
        return self._dialect.render(call, self._result(call))

    def _result(self, call: ToolCall) -> ToolResult:
        try:
            canonical = self._dialect.canonical(call)
        except NanocoderError as error:
            return ToolResult(str(error), is_error=True, error_class=error.error_class)
        *_, last = self._session.call(canonical.name, canonical.arguments)
        outcome = last.data
        return ToolResult(
            outcome["output"],
            data=outcome["data"],
            metadata=outcome["metadata"],
            is_error=outcome["status"] != "ok",
            error_class=outcome["error_class"],
            artifact=outcome["artifact"],
        )
