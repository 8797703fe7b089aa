"""One model: its context window, its prices, its abilities."""

from typing import Final, NamedTuple

from nanocoder import ModelInfo, Usage, evolve

PER_TOKENS: Final = 1_000_000
"""Prices are in US dollars for this many tokens."""


class Price(NamedTuple):
    """US dollars for a million tokens of each kind.

    A request with more than *above_tokens* input tokens costs *above* altogether; 0: no such step.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    above_tokens: int = 0
    above: "Price | None" = None

    def cost(self, usage: Usage) -> float:
        """Return the cost of one request with *usage*, in dollars."""
        sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.above is not None and sent > self.above_tokens:
            return self.above.cost(usage)
        dollars = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        )
        return dollars / PER_TOKENS


FREE: Final = Price(0.0, 0.0, 0.0, 0.0)


class Model(NamedTuple):
    """One model; 0, empty or None for unknown fields."""

    name: str
    context: int = 0
    price: Price | None = None
    abilities: tuple[str, ...] = ()

    def priced(self, usage: Usage) -> Usage:
        """Return *usage* with its cost, None if price or tokens are unknown."""
        if self.price is None or usage.cost is not None or usage == Usage():
            return usage
        return evolve(usage, cost=self.price.cost(usage))

    def info(self, served: ModelInfo) -> ModelInfo:
        """Return the server's metadata *served*, completed with this entry."""
        price = self.price
        return evolve(
            served,
            context=served.context or self.context,
            input_price=price.input if price else None,
            output_price=price.output if price else None,
            abilities=served.abilities or self.abilities,
        )
