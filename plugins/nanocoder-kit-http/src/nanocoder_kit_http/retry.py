"""Asking again: which failures deserve it, how often, and after how long."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Final, TypeVar

from attrs import frozen
from nanocoder import Cancel, ProviderError

from nanocoder_kit_http.failures import FinalError

T = TypeVar("T")

RETRIED_KINDS: Final = frozenset({"network", "overloaded", "rate_limit", "unavailable"})
_BYTES_OF_CHANCE: Final = 4


def _chance() -> float:
    # The random module costs milliseconds of imports for one number.
    return int.from_bytes(os.urandom(_BYTES_OF_CHANCE)) / (1 << 8 * _BYTES_OF_CHANCE)


def _sleep(cancel: Cancel, seconds: float) -> None:
    cancel.wait(seconds)


@frozen
class Retry:
    """Up to *tries* requests, full jitter that doubles from *first_s* to *cap_s*.

    What a server asks us to wait is honoured up to *longest_wait_s*; a longer wait is an error
    that says so. *chance* and *sleep* are for tests.
    """

    tries: int = 5
    first_s: float = 0.5
    cap_s: float = 8.0
    longest_wait_s: float = 120.0
    chance: Callable[[], float] = _chance
    sleep: Callable[[Cancel, float], None] = _sleep

    def run(
        self, attempt: Callable[[], Generator[Sequence[T], None, None]], cancel: Cancel
    ) -> Iterator[T]:
        """Yield what *attempt* yields, item by item, and start it again while that is allowed.

        An attempt that has yielded (be it an empty list) has begun to answer and is never repeated.
        Raises: ProviderError, Cancelled.
        """
        for number in range(1, self.tries + 1):
            begun = False
            try:
                with closing(attempt()) as batches:
                    for batch in batches:
                        begun = True
                        yield from batch
            except ProviderError as error:
                if begun or not self._is_worth_it(error):
                    raise
                if number == self.tries:
                    raise _exhausted(error, number) from error
                self.sleep(cancel, self._pause(error, number))
                cancel.check()
            else:
                return

    def _is_worth_it(self, error: ProviderError) -> bool:
        if isinstance(error, FinalError) or error.kind not in RETRIED_KINDS:
            return False
        return (error.retry_after_s or 0.0) <= self.longest_wait_s

    def _pause(self, error: ProviderError, number: int) -> float:
        if error.retry_after_s is not None:
            return error.retry_after_s
        return self.chance() * min(self.cap_s, self.first_s * (1 << number - 1))


def _exhausted(error: ProviderError, tries: int) -> ProviderError:
    if tries == 1:
        return error
    return ProviderError(
        f"{error} (tried {tries} times)",
        kind=error.kind,
        status=error.status,
        retry_after_s=error.retry_after_s,
    )
