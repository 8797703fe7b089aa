"""A batch as an evaluation shows it: a bar on a terminal; it stops when the budget is spent."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define
from nanocoder import Cancel, Host
from nanocoder_kit_batch import Tally
from nanocoder_kit_batch.progress import Bar


@define
class Quiet:
    """Shows the progress bar only on a terminal; the figures are printed at the end.

    *spent* is the cost of earlier starts and this one, in US dollars; the work ends at *budget*.
    """

    host: Host
    cancel: Cancel
    budget: float | None = None
    spent: float = 0.0
    _bar: Bar | None = None

    def started(self, total: int, skipped: int, notices: Iterable[str]) -> None:
        """Show how much there is to do."""
        if self.host.columns:
            self._bar = Bar(sys.stdout, self.host.columns, "")
            self._bar.started(total, skipped, notices)

    def finished(self, result: Mapping[str, Any], tally: Tally) -> None:
        """Move the bar on, and stop when there is no money left."""
        self.spent += result["cost"] or 0.0
        if self.is_spent:
            self.cancel.set()
        if self._bar is not None:
            self._bar.finished(result, tally)

    @property
    def is_spent(self) -> bool:
        """True if the budget is spent."""
        return self.budget is not None and self.spent >= self.budget

    def ended(self, tally: Tally, seconds: float, *, interrupted: bool) -> None:
        """Take the bar away."""
        del tally, seconds, interrupted
        if self._bar is not None:
            self._bar.clear()
