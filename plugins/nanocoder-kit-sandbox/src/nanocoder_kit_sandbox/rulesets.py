"""Rulesets that are kept: made once for as long as each of their paths leads to the same file."""

from __future__ import annotations

import os

from nanocoder_kit_sandbox import kernel, launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class KeptRuleset:
    """The ruleset that was made last, for the entries *names* of rules.

    A file that a ruleset has a right for is in use, so no other one gets its number. `made` counts
    the rulesets.
    """

    names: tuple[str, ...] = ()
    facts: int | None = None
    """How many of the facts about a file have to be the same; None for all."""

    def __init__(self) -> None:
        self.made = 0
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
            self._key = [rules[name] for name in self.names]
            self._paths = [path for path, _ in rules[self.names[0]]]
            self._states = [state and state[: self.facts] for state in states]
        return self._handle

    def _is_for(self, rules: dict[str, Any]) -> bool:
        if self._key != [rules[name] for name in self.names]:
            return False
        return [self._state(path) for path in self._paths] == self._states

    def _make(self, rules: dict[str, Any], states: list[kernel.State | None]) -> int:
        raise NotImplementedError

    def _state(self, path: str) -> kernel.State | None:
        try:
            return kernel.state_of(os.stat(path))[: self.facts]
        except OSError:
            return None


class OuterRuleset(KeptRuleset):
    """What a command, and the process beside it, may change: folders in which names appear."""

    names = ("outer", "version")
    facts = 2

    def _make(self, rules: dict[str, Any], states: list[kernel.State | None]) -> int:
        return launch.outer_ruleset(rules, states)


class InnerRuleset(KeptRuleset):
    """What a command may do with which path."""

    names = ("inner", "version", "network")

    def _make(self, rules: dict[str, Any], states: list[kernel.State | None]) -> int:
        return launch.inner_ruleset(rules, states)
