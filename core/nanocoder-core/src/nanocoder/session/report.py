"""The outcome of a run: the object that `run --output json` prints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import Factory
from nanocoder_schema import NanocoderError, mutable

from nanocoder.errors import ProviderError
from nanocoder.tools.outcome import status_of
from nanocoder.tools.tool import Tools
from nanocoder.values import TOKENS, Effect, StopReason, ToolCall, ToolResult, Usage

CONTEXT_FULL = (
    "; the conversation no longer fits into the model's context: /rewind takes its last prompt"
    " back, /clear starts a new one, and --model chooses a model with a larger context"
)
EXIT_BASE = 128
"""Added to the number of the signal that ended a run."""
EXIT_CODES = {
    StopReason.DONE: 0,
    StopReason.APPROVAL_NEEDED: 3,
    StopReason.PROVIDER_ERROR: 4,
    **dict.fromkeys((StopReason.TURN_LIMIT, StopReason.BUDGET), 5),
    StopReason.DENIED: 6,
    StopReason.INTERRUPTED: 130,
}
"""Exit codes by the reason; every other one is 1."""


@mutable
class Report:
    """The outcome of a run so far; `data` is its JSON-ready form.

    *untracked*: a call ran that may have changed more than *files_changed* lists. *signal* is the
    number of the latest signal to interrupt a run.
    """

    session_id: str = ""
    model: str = ""
    text: str = ""
    answer: Any = None
    truncated: bool = False
    stop_reason: StopReason = StopReason.DONE
    turns: int = 0
    usage: Usage = Factory(Usage)
    tool_calls: list[dict[str, Any]] = Factory(list)
    denials: list[dict[str, Any]] = Factory(list)
    files_changed: list[str] = Factory(list)
    untracked: bool = False
    error: dict[str, str] | None = None
    signal: int = 0
    dry_run: list[dict[str, str]] | None = None
    _outcomes: dict[tuple[str, StopReason], int] = Factory(dict)

    @property
    def exit_code(self) -> int:
        """The exit code of a command with this outcome."""
        if self.error is not None and self.error["class"] in {"usage", "configuration"}:
            return 2
        if self.signal and self.stop_reason is StopReason.INTERRUPTED:
            return EXIT_BASE + self.signal
        return EXIT_CODES.get(self.stop_reason, 1)

    def note(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], tools: Tools) -> None:
        """Record a turn's calls and the changed files."""
        for call, result in zip(calls, results, strict=True):
            row = {"tool": call.name, "status": status_of(result)}
            self.tool_calls.append({"id": call.id, **row, "error_class": result.error_class})
            if tool := tools.get(call.name):
                self.untracked |= not (tool.is_read_only or Effect.REVERSIBLE in tool.effects)
                if Effect.WRITE in tool.effects and not result.is_error:
                    metadata = result.metadata
                    self.note_files([metadata.get("path"), *metadata.get("files_changed", ())])

    def note_outcome(self, returned: Mapping[str, Any]) -> None:
        """Record the outcome of a call, also inside another: the data of its `call.returned`."""
        row = {name: returned[name] for name in ("tool", "status", "error_class")}
        tool, status = row["tool"], row["status"]
        if status == "ok":
            self._outcomes[tool, StopReason.DONE] = self.turns
        if status in {"denied", "approval_needed"}:
            self.denials.append({**row, "reason": returned["output"]})
            # A mode and a person deny, too; only a rule's denial blocks a script.
            if status == "approval_needed" or (returned["data"] or {}).get("rule"):
                self._outcomes[tool, StopReason(status)] = self.turns

    def include(self, child: "Report", *, in_place: bool) -> None:
        """Add a child session's outcomes to this turn; its files if it ran *in_place*."""
        self.note_files(child.files_changed if in_place else ())
        self.denials += child.denials
        self._outcomes.update(dict.fromkeys(child.valid_outcomes(), self.turns))

    def valid_outcomes(self) -> set[tuple[str, StopReason]]:
        """Return pairs of a tool and an outcome: DONE, or a refusal.

        Only a later turn makes up for a refusal: calls of one turn may run in parallel.
        """
        turns = self._outcomes.copy()
        return {pair for pair in turns if turns[pair] >= turns.get((pair[0], StopReason.DONE), 0)}

    def note_files(self, paths: Iterable[object]) -> None:
        """Record changed files, each once; other values are ignored."""
        for path in paths:
            if isinstance(path, str) and path not in self.files_changed:
                self.files_changed.append(path)

    def end(self, reason: StopReason) -> None:
        """Set the reason of the end; a refusal that blocked the run to the end takes precedence."""
        reasons = {it for _, it in self.valid_outcomes() if it is not reason is StopReason.DONE}
        # A missing approval comes first, because it can be given later.
        self.stop_reason = min(reasons, default=reason, key=EXIT_CODES.__getitem__)

    def fail(self, error: Exception) -> None:
        """Set the end by an error."""
        kind = error.kind if isinstance(error, ProviderError) else ""
        self.end(StopReason.PROVIDER_ERROR if kind else StopReason.FAILED)
        message = str(error) or type(error).__name__
        message += CONTEXT_FULL if kind == "context_overflow" else ""
        error_class = getattr(error, "error_class", NanocoderError.error_class)
        self.error = {"class": error_class, "message": message, **({"kind": kind} if kind else {})}

    def stopped(self, reason: StopReason, message: str) -> StopReason:
        """Record the *message* about a stopped run, and return *reason*."""
        self.error = {"class": str(reason), "message": message}
        return reason

    def data(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            **{name: getattr(self, name) for name in Report.__annotations__ if name[0] != "_"},
            "stop_reason": str(self.stop_reason),
            "usage": usage_data(self.usage),
            "cost": self.usage.cost,
            "signal": (self.stop_reason is StopReason.INTERRUPTED and self.signal) or None,
        }


def usage_data(usage: Usage) -> dict[str, int]:
    """Return the tokens of *usage* by their public names."""
    return {name: getattr(usage, name) for name in TOKENS}
