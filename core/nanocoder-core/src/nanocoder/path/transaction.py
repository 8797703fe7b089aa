"""Calls whose changes are kept or taken back together, those of all their steps included."""

import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from attrs import evolve

from nanocoder.errors import NanocoderError
from nanocoder.path.outcome import result_of_error, status_of
from nanocoder.path.stages import Watch
from nanocoder.path.worker import Emitted
from nanocoder.text import clip
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect, Event, ToolCall, ToolResult

if TYPE_CHECKING:
    from nanocoder_files import Restored, Rollback, Workspace

Steps = Generator[Emitted, None, ToolResult]

TOLD_CHARS = 2_000
"""How much the model is told of what was put back."""


class Transaction:
    """One transactional call; *open_workspace* is asked for at its first step."""

    def __init__(
        self,
        session_id: str,
        tool: Tool[..., Any],
        call: ToolCall,
        open_workspace: "Callable[[], Workspace]",
    ) -> None:
        self._session_id = session_id
        self._processes = Effect.EXECUTE in tool.effects
        self._call = call
        self._open = open_workspace
        self._lock = threading.Lock()
        self._view: Workspace | None = None
        self._rollback: Rollback | None = None

    def workspace(self) -> "Workspace":
        """Return the workspace that the call and its steps share: it notes what they change."""
        with self._lock:
            if self._view is None:
                name = f"{self._session_id}-{self._call.id}"
                about = f"{self._call.name} of session {self._session_id}"
                self._view, self._rollback = self._open().recording(
                    name, about, processes=self._processes
                )
            return self._view

    def around(self, steps: Steps, watch: Watch) -> Steps:
        """Take *steps*; where they fail, put back what they changed and say so in the result."""
        call = self._call
        try:
            result = yield from caught(call, steps, watch)
        except BaseException:  # nobody listens any more: no event, no result
            self._restored()
            raise
        if not result.is_error:
            if self._rollback is not None:
                self._rollback.discard()
            return result
        restored = self._restored()
        if restored is None or not (restored.paths or restored.lost):
            return result
        told = {"restored": list(restored.paths), "not_restored": list(restored.lost)}
        yield Event("call.restored", told, call.id)
        metadata = {**result.metadata, **{name: value for name, value in told.items() if value}}
        return evolve(result, output=f"{result.output}\n{_line(restored)}", metadata=metadata)

    def _restored(self) -> "Restored | None":
        return self._rollback.restore() if self._rollback is not None else None


def caught(call: ToolCall, steps: Steps, watch: Watch) -> Steps:
    """Turn an error that ends *steps* into the call's result."""
    try:
        return (yield from steps)
    except NanocoderError as error:
        return (yield from ended(call, error, watch))


def ended(call: ToolCall, error: NanocoderError, watch: Watch) -> Steps:
    """Tell that *error* has ended a call, and return the result that it makes."""
    result = result_of_error(call, error)
    kind = "call.failed" if status_of(result) == "error" else "call.denied"
    told = {"stage": watch.failed(error.error_class), "error_class": error.error_class}
    yield Event(kind, {**told, "message": str(error)}, call.id)
    return result


def _line(restored: "Restored") -> str:
    said = [*restored.lost, *filter(None, [restored.then])]
    if restored.paths:
        said.insert(0, f"restored to the state before this call: {', '.join(restored.paths)}")
    return f"[{clip('; '.join(said), head=TOLD_CHARS // 2, tail=TOLD_CHARS // 2)}]"
