"""One run: a prompt, and what it may use and come to until the model has answered."""

from collections.abc import Sequence

from attrs import define, field
from nanocoder_schema import Shown

from nanocoder.cancel import Cancel
from nanocoder.provider import Finished, ToolDefinition
from nanocoder.session.limits import Budget, RepetitionGuard
from nanocoder.session.report import Report
from nanocoder.session.text_calls import FAILED, HINT, written_call
from nanocoder.values import StopReason

MAX_CALLS = 128
"""How many calls of one reply run; a model that sends more does not read results."""
TOO_MANY = f"too many calls in one reply; only the first {MAX_CALLS} run"


@define(eq=False, repr=False)
class Run(Shown):
    """One prompt and what belongs to it alone.

    *hint* is what a model was told that wrote its calls as text, *is_stuck* that its latest reply
    repeated itself without end, *offered* what the latest request offered.
    """

    report: Report
    guard: RepetitionGuard
    cancel: Cancel
    budget: Budget = field(factory=Budget)
    max_turns: int = 50
    is_stuck: bool = False
    hint: str = ""
    offered: Sequence[ToolDefinition] = ()

    def ending(self, reply: Finished) -> StopReason | None:
        """Return why the run ends with *reply*; None when its calls or the hint come next.

        Raises: ProviderError for a reply without anything.
        """
        if self.is_stuck:
            return self.report.stopped(StopReason.LOOP, "stopped: the reply repeated itself")
        if reply.refusal:
            return self.report.stopped(StopReason.REFUSED, reply.refusal)
        if reply.calls:
            return None
        name = written_call(reply.text, [tool.name for tool in self.offered])
        if not name:
            return self.report.answered(reply.text)
        if self.hint:
            return self.report.stopped(StopReason.FAILED, FAILED.format(name=name))
        self.hint = HINT.format(name=name)
        return None

    def affordable(self, wanted: int) -> tuple[int, str]:
        """Return how many of *wanted* calls may run now, and why the others may not."""
        made = len(self.report.tool_calls)
        may = min(MAX_CALLS, self.budget.affords(wanted, made, self.report.usage))
        if not self.budget.spent:
            return may, TOO_MANY
        return may, f"the budget of {self.budget.spent} is spent; answer now with what you have"
