"""Limits that all workers share: a token bucket of each provider on the scheduler."""

from typing import Any, Final

from distributed import Scheduler, SchedulerPlugin
from nanocoder_kit_batch.limits import Rates

HANDLER: Final = "nanocoder_delay_s"


class RateOnScheduler(SchedulerPlugin):
    """Answers in how many seconds a worker may send one more request to a provider."""

    name = "nanocoder-rates"
    idempotent = False

    def __init__(self, per_minute: dict[str, float]) -> None:
        self._rates = Rates(per_minute)

    async def start(self, scheduler: Scheduler) -> None:
        """Take the messages of workers."""
        scheduler.handlers[HANDLER] = self.delay_s

    def delay_s(self, provider: str, **_: Any) -> float:
        """Reserve one request of *provider*, and return its delay in seconds."""
        return self._rates.delay_s(provider)


def name_of_semaphore(provider: str, slots: int) -> str:
    """Return the name by which all workers find the semaphore of *provider*."""
    return f"nanocoder-{provider}-{slots}"
