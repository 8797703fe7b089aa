"""The settings of every provider that uses HTTP."""

from typing import Any, Final, Literal, Self

from attrs import evolve, field
from nanocoder import value

from nanocoder_kit_llm.http.breaker import RetryBudget
from nanocoder_kit_llm.http.retry import Retry
from nanocoder_kit_llm.http.timers import Timeouts

LOOK_S: Final = 3.0
"""Timeout of the query of a server's models, in seconds: an absent one must not delay a start."""


def _setting(default: Any, description: str, *, user_only: bool = False) -> Any:
    return field(default=default, metadata={"description": description, "user_only": user_only})


@value(kw_only=True)
class HttpSettings:
    """Address, timers and retries; a provider's own settings class inherits from this one.

    Even a trusted project cannot choose the server that gets the key.
    """

    base_url: str = _setting(
        "", "Address of the server; empty uses the vendor's variable.", user_only=True
    )
    key_command: tuple[str, ...] = _setting(
        (),
        "A program and its arguments that print the key, where no variable leads to it.",
        user_only=True,
    )
    headers: dict[str, str] = field(
        factory=dict,
        metadata={
            "description": "Headers of your own by name; $NAME in a value stands for a variable.",
            "user_only": True,
        },
    )
    max_retries: int = _setting(6, "How often a failed request is repeated.")
    connect_timeout_s: float = _setting(10.0, "Seconds to reach the server.")
    header_timeout_s: float = _setting(
        0.0, "Seconds until it begins to answer; 0 means 60, and no limit in your own network."
    )
    idle_timeout_s: float = _setting(120.0, "Seconds without a byte until a reply is given up.")
    progress_timeout_s: float = _setting(300.0, "Seconds without an event until it is given up.")
    total_timeout_s: float = _setting(0.0, "Seconds a whole reply may take; 0 means no limit.")
    proxy: str = _setting(
        "environment",
        "URL of a proxy, HTTP or SOCKS; 'environment' reads HTTPS_PROXY and NO_PROXY, '' is none.",
        user_only=True,
    )

    profile: Literal["", "full", "small"] = _setting(
        "", "'small' asks for short descriptions and few tools; empty: for small models only."
    )

    def timeouts(self) -> Timeouts:
        """Return the timers; a header timer of 0 is left for the client to choose."""
        return Timeouts(
            self.connect_timeout_s,
            self.header_timeout_s,
            self.idle_timeout_s,
            self.progress_timeout_s,
            self.total_timeout_s,
        )

    def impatient(self) -> Self:
        """Return these settings with the short timeout of a query of a server's models."""
        return evolve(
            self, connect_timeout_s=LOOK_S, header_timeout_s=LOOK_S, idle_timeout_s=LOOK_S
        )

    def retry(self, budget: RetryBudget) -> Retry:
        """Return the retry policy; all sessions share *budget* for one server."""
        return Retry(tries=1 + max(0, self.max_retries), budget=budget)
