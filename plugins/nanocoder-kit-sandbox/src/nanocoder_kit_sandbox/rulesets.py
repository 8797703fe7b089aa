"""Rulesets that are kept: made once for as long as each of their paths leads to the same file."""

from __future__ import annotations

import os

from nanocoder_kit_sandbox import kernel, launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class KeptRuleset:
    """The ruleset that *make* made last, for the entries *names* of rules, the paths first.

    *facts* is how many of the facts about a file have to be the same; None for all. A file that a
    ruleset has a right for is in use, so no other one gets its number. `made` counts the rulesets.
    """

    def __init__(
        self, make: Callable[..., int], names: tuple[str, ...], facts: int | None = None
    ) -> None:
        self.made = 0
        self._make, self._names, self._facts = make, names, facts
        self._key: list[Any] = []
        self._paths: list[str] = []
        self._states: list[kernel.State | None] = []
        self._handle = -1

    def of(self, rules: dict[str, Any]) -> int:
        """Return a handle for *rules*, which is closed here; raises OSError."""
        if not self._is_for(rules):
            states: list[kernel.State | None] = []
            handle, self._key = self._make(rules, states), []
            if self._handle >= 0:
                os.close(self._handle)
            self._handle = handle
            self.made += 1
            self._key = [rules[name] for name in self._names]
            self._paths = [path for path, _ in rules[self._names[0]]]
            self._states = [state and state[: self._facts] for state in states]
        return self._handle

    def _is_for(self, rules: dict[str, Any]) -> bool:
        if self._key != [rules[name] for name in self._names]:
            return False
        return [self._state(path) for path in self._paths] == self._states

    def _state(self, path: str) -> kernel.State | None:
        try:
            return kernel.state_of(os.stat(path))[: self._facts]
        except OSError:
            return None


def outer_rulesets() -> KeptRuleset:
    """Keep what a command, and the process beside it, may change: names appear in its folders."""
    return KeptRuleset(launch.outer_ruleset, ("outer", "version"), facts=2)


def inner_rulesets() -> KeptRuleset:
    """Keep what a command may do with which path."""
    return KeptRuleset(launch.inner_ruleset, ("inner", "version", "network"))
