"""The budget of an isolated plugin until nanocoder ends: calls, and failures of its own."""

import threading
from typing import Final

from nanocoder import ToolError, counted

from nanocoder_tool_isolated.settings import Settings

OWN_FAULTS: Final = frozenset(
    {"isolated_crash", "protocol_error", "output_too_large", "timeout", "capability_denied"}
)
"""Ends of a call that are the plugin's fault."""


class Budget:
    """Counts the calls and the failures of one plugin; from any thread."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings
        self._lock = threading.Lock()
        self._calls = self._failures = 0
        self._last_fault = ""

    def spend(self) -> None:
        """Count a call; raises ToolError if the budget is exhausted."""
        most_calls, most_failures = self._settings.calls, self._settings.failures
        with self._lock:
            if most_failures and self._failures >= most_failures:
                raise ToolError(
                    f"{self._name} is disabled until nanocoder is started again: it failed"
                    f" {counted(self._failures, 'time')}, at last with {self._last_fault}",
                    error_class="plugin_set_aside",
                )
            if most_calls and self._calls >= most_calls:
                raise ToolError(
                    f"{self._name} has used up its {counted(most_calls, 'call')}"
                    " (plugins.tool-isolated.calls)",
                    error_class="plugin_budget",
                )
            self._calls += 1

    def note(self, error_class: str) -> None:
        """Record the end of a call; only an error class of the plugin's own fault is a failure."""
        with self._lock:
            if error_class in OWN_FAULTS:
                self._failures += 1
                self._last_fault = error_class
