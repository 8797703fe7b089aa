"""What a run may use up, beside its turns."""

from attrs import define

from nanocoder.config.settings import CoreSettings
from nanocoder.values import Shown, Usage


@define(eq=False, repr=False)
class Budget(Shown):
    """The calls and tokens that one run may use; 0: no limit.

    A model is told once that they are used up, so that it can answer with what it has; *spent* then
    says what they were.
    """

    calls: int = 0
    tokens: int = 0
    spent: str = ""

    def affords(self, wanted: int, made: int, usage: Usage) -> int:
        """Return how many of *wanted* calls may run after *made* others."""
        if self.tokens and usage.input_tokens + usage.output_tokens >= self.tokens:
            self.spent = f"{self.tokens:,} tokens"
            return 0
        if self.calls and made + wanted > self.calls:
            self.spent = f"{self.calls:,} calls"
            return max(0, self.calls - made)
        return wanted


def is_over(core: CoreSettings, usage: Usage) -> bool:
    """Tell whether *usage* reached what the configuration lets one run use."""
    tokens = usage.input_tokens + usage.output_tokens
    too_dear = core.max_cost_usd and (usage.cost or 0.0) >= core.max_cost_usd
    return bool(too_dear or (core.max_tokens and tokens >= core.max_tokens))
