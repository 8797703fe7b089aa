"""The tools that a session's model is offered, without those of which a rule denies every call."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attrs import evolve

if TYPE_CHECKING:
    from nanocoder import Request, SessionInfo, ToolDefinition

    from nanocoder_policy_rules.rules import Rule
    from nanocoder_policy_rules.settings import Settings


class Offered:
    """The tools of one session without those that are denied.

    They are the same object from request to request until the tools or the rules in force change:
    providers keep what they have encoded.
    """

    def __init__(self) -> None:
        self._all: Sequence[ToolDefinition] = ()
        self._denied: frozenset[str] = frozenset()
        self._rest: Sequence[ToolDefinition] = ()

    def reduce(self, request: "Request", session: "SessionInfo", settings: "Settings") -> "Request":
        """Return *request* without the tools of which a rule denies every call."""
        rules = [rule for rule in settings.rules_that("deny") if _is_for_all_calls(rule)]
        holding = [rule for rule in rules if rule.holds(session, session.mode)]
        denied = frozenset(
            each.name for each in request.tools if any(_denies(rule, each) for rule in holding)
        )
        if not denied:
            return request
        if self._all is not request.tools or self._denied != denied:
            self._all, self._denied = request.tools, denied
            self._rest = tuple(each for each in request.tools if each.name not in denied)
        return evolve(request, tools=self._rest)


def _is_for_all_calls(rule: "Rule") -> bool:
    """Return True if a rule is about a tool by name or plugin, and about all its arguments."""
    return not rule.pattern and not rule.table.effect and not rule.table.risk


def _denies(rule: "Rule", definition: "ToolDefinition") -> bool:
    plugin = rule.table.plugin
    is_of_plugin = not plugin or fnmatchcase(definition.plugin, plugin)
    return is_of_plugin and rule.names(definition.name)
