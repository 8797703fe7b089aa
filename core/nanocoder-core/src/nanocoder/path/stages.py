"""The stages of one call: when each began, how long it took, and which of them failed."""

import time
from typing import Any

from attrs import define, field
from nanocoder_schema import Shown

STAGES = ("bootstrap", "input", "policy", "execution", "output", "telemetry")
"""The workspace is there; what came in is understood; it may run; it ran; its one result is made;
the journal and the hooks know. The last is told by the record itself."""


@define(eq=False, repr=False)
class Watch(Shown):
    """Times one call.

    *ran_s* is the handler's own time, *queued_s* what the call waited for others, *asked_s* what a
    person took to agree; all in seconds. *ignored* are arguments that counted as not given.
    """

    ran_s: float = 0.0
    queued_s: float = 0.0
    asked_s: float = 0.0
    ignored: tuple[str, ...] = ()
    _began: float = field(factory=time.perf_counter)
    _since: float = 0.0
    _stage: str = ""
    _done: list[list[Any]] = field(factory=list)

    def enter(self, stage: str, error_class: str = "") -> None:
        """End the stage that was, failed if there is an *error_class*, and begin another."""
        now = time.perf_counter()
        if self._stage:
            row = [self._stage, _ms(self._since - self._began), _ms(now - self._since)]
            self._done.append([*row, error_class] if error_class else row)
        self._stage, self._since = stage, now

    def failed(self, error_class: str) -> str:
        """End the stage that was as one that failed, compose what to tell; return its name."""
        stage = self._stage
        self.enter("output" if stage != "output" else "", error_class)
        return stage

    def metadata(self) -> dict[str, Any]:
        """Return what a result should say of its call besides."""
        queued = {"queued_ms": _ms(self.queued_s)} if self.queued_s else {}
        return queued | ({"ignored_arguments": list(self.ignored)} if self.ignored else {})

    def data(self) -> dict[str, Any]:
        """End the last stage and return the times as JSON-ready data, in milliseconds.

        `stages` has a row for each: name, begin, duration, and the error class if it failed.
        """
        self.enter("")
        extra = {"queued_ms": self.queued_s, "asked_ms": self.asked_s}
        told = {name: _ms(seconds) for name, seconds in extra.items() if seconds}
        return {"ran_ms": _ms(self.ran_s), **told, "stages": self._done}


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 3)
