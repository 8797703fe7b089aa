"""Figures of results: counts, classes of failures, and the costs of each task."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field


def failure_of(result: Mapping[str, Any]) -> str:
    """Return the class of a failed task; "" for one that is done and passed its check, if any."""
    if result["stop_reason"] != "done":
        error = result.get("error") or {}
        return str(error.get("kind") or error.get("class") or result["stop_reason"])
    return "check_failed" if result["checked"] is False else ""


def reason_of(result: Mapping[str, Any]) -> str:
    """Return the reason a task failed: its error's message, or the denials; "" for neither."""
    message = (result.get("error") or {}).get("message", "")
    return message or "; ".join(row["reason"] for row in result.get("denied", ()))


def tokens_of(result: Mapping[str, Any]) -> int:
    """Return the tokens of all requests of a task, in and out."""
    usage = result["usage"]
    return int(usage["input_tokens"] + usage["output_tokens"])


def price_of(cost: float) -> str:
    """Return a price in US dollars for a person; none at all is "free"."""
    return f"${cost:.4f}" if cost else "free"


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value below which *part* (0 to 1) of *values* lie; 0 without any."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _figures() -> Any:
    return field(factory=lambda: array("d"))


@define
class Tally:
    """The figures of results so far; a task takes 24 bytes, however long its answer is.

    *costs* has those of the tasks whose cost is known, in US dollars.
    """

    solved: int = 0
    failures: Counter[str] = field(factory=Counter)
    costs: Sequence[float] = _figures()
    tokens: Sequence[float] = _figures()
    seconds: Sequence[float] = _figures()

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one result."""
        failure = failure_of(result)
        self.solved += not failure
        if failure:
            self.failures[failure] += 1
        if result["cost"] is not None:
            self.costs.append(float(result["cost"]))  # type: ignore[attr-defined]
        self.tokens.append(tokens_of(result))  # type: ignore[attr-defined]
        self.seconds.append(float(result.get("seconds", 0.0)))  # type: ignore[attr-defined]

    @property
    def total(self) -> int:
        """The number of results."""
        return len(self.tokens)

    @property
    def failed(self) -> int:
        """The number of failed tasks."""
        return self.total - self.solved

    @property
    def cost(self) -> float | None:
        """The cost of all tasks in US dollars, or None if it is unknown."""
        return sum(self.costs) if self.costs else None

    def data(self) -> dict[str, Any]:
        """Return the figures ready for JSON."""
        return {
            "tasks": self.total,
            "solved": self.solved,
            "failed": self.failed,
            "failures": dict(self.failures.most_common()),
            "cost": self.cost,
            "tokens": int(sum(self.tokens)),
            "task_seconds": round(sum(self.seconds), 3),
        }
