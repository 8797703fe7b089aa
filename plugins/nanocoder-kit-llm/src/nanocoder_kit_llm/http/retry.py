"""Retries: which failures are worth one, how many, and how long the pauses are."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Final, TypeVar

from attrs import Factory
from nanocoder import Cancel, Notice, ProviderError, Retrying, value

from nanocoder_kit_llm.http.breaker import BUDGET_S, RETRIES, RetryBudget
from nanocoder_kit_llm.http.failures import RETRIED_KINDS, UnreachedError

T = TypeVar("T")

OVER_BUDGET: Final = (
    f"not tried again: {RETRIES} requests to this server were repeated in {BUDGET_S:.0f} s"
)
UNREACHED_TRIES: Final = 2
"""Limit of the attempts while no request has reached a server."""
_BYTES_OF_CHANCE: Final = 4


def _chance() -> float:
    # The random module costs milliseconds of imports for one number.
    return int.from_bytes(os.urandom(_BYTES_OF_CHANCE)) / (1 << 8 * _BYTES_OF_CHANCE)


def _sleep(cancel: Cancel, seconds: float) -> None:
    cancel.wait(seconds)


@value
class Retry:
    """Up to *tries* requests; the pauses between them double from *first_s* to *cap_s*.

    A part of each pause is random jitter, so that many clients do not retry together. A longer
    wait that the server asks for is honoured, up to *longest_wait_s*; beyond that the request
    fails. *budget* limits the retries of all sessions. *chance* and *sleep* are for tests.
    """

    tries: int = 7
    first_s: float = 1.0
    cap_s: float = 10.0
    longest_wait_s: float = 120.0
    budget: RetryBudget = Factory(RetryBudget)
    chance: Callable[[], float] = _chance
    sleep: Callable[[Cancel, float], None] = _sleep

    def run(
        self, attempt: Callable[[], Generator[Sequence[T], None, None]], cancel: Cancel
    ) -> Iterator[T | Retrying]:
        """Yield the items of *attempt*, and retry it while that is allowed.

        A `Retrying` announces each retry. An attempt that has yielded an item has begun to
        answer and is not retried here: the item may already be on the screen.
        Raises: ProviderError, Cancelled.
        """
        for number in range(1, self.tries + 1):
            begun = False
            try:
                with closing(attempt()) as batches:
                    for batch in batches:
                        begun = begun or any(not _is_passing(item) for item in batch)
                        yield from batch
            except ProviderError as error:
                if begun or not self._is_worth_it(error):
                    raise
                tries = self._tries_of(error)
                if number >= tries:
                    raise _ended(error, f"tried {number} times" if number > 1 else "") from error
                if not self.budget.take():
                    raise _ended(error, OVER_BUDGET) from error
                pause = self._pause(error, number)
                yield Retrying(str(error), number + 1, tries, error.status, round(pause, 1))
                self.sleep(cancel, pause)
                cancel.check()
            else:
                return

    def _is_worth_it(self, error: ProviderError) -> bool:
        if error.retry is False or (error.retry is None and error.kind not in RETRIED_KINDS):
            return False
        return (error.retry_after_s or 0.0) <= self.longest_wait_s

    def _tries_of(self, error: ProviderError) -> int:
        is_unreached = isinstance(error, UnreachedError)
        return min(self.tries, UNREACHED_TRIES) if is_unreached else self.tries

    def _pause(self, error: ProviderError, number: int) -> float:
        longest = min(self.cap_s, self.first_s * (1 << number - 1))
        own = longest * (1 + self.chance()) / 2
        return max(own, error.retry_after_s or 0.0)


def _is_passing(item: object) -> bool:
    """Return True if *item* only reports the server's present activity."""
    return isinstance(item, Notice) and item.is_passing


def _ended(error: ProviderError, why: str) -> ProviderError:
    return ProviderError(
        f"{error} ({why})" if why else str(error),
        kind=error.kind,
        status=error.status,
        retry_after_s=error.retry_after_s,
        retry=error.retry,
    )
