"""The limits of a run beside its turns: calls, tokens, money."""

from attrs import define
from nanocoder_schema import Shown

from nanocoder.config.settings import CoreSettings
from nanocoder.errors import UsageError
from nanocoder.provider import Provider
from nanocoder.values import Usage


@define(eq=False, repr=False)
class Budget(Shown):
    """The calls and tokens that one run may use; 0: no limit.

    When they are used up the model is told once, so that it can answer with what it has; *spent*
    then says which limit it was.
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


def spent_limit(core: CoreSettings, usage: Usage) -> str:
    """Return which limit of the configuration *usage* has reached, or nothing."""
    tokens = usage.input_tokens + usage.output_tokens
    if core.max_cost_usd and (usage.cost or 0.0) >= core.max_cost_usd:
        return f"stopped at the limit of ${core.max_cost_usd:g} (max_cost_usd)"
    if core.max_tokens and tokens >= core.max_tokens:
        return f"stopped at the limit of {core.max_tokens:,} tokens (max_tokens)"
    return ""


def refuse_unknown_price(core: CoreSettings, provider: Provider, model: str) -> None:
    """Raise UsageError when money is limited and the price of *model* is not known."""
    if core.max_cost_usd and not getattr(provider, "has_price", False):
        raise UsageError(
            f"max_cost_usd is set, but the price of {model} is unknown, so the limit cannot be"
            " kept; remove max_cost_usd (NANOCODER_MAX_COST_USD), or limit max_tokens instead"
        )
