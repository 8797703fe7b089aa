"""The rules of one verdict, ordered by what they are about.

A company may have hundreds of rules. Most are about other tools, or about commands that start none
of the programs of this one; those are never tried.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from attrs import evolve

from nanocoder_policy_rules.rule_matching import program_of
from nanocoder_policy_rules.rule_tables import RuleVerdict
from nanocoder_policy_rules.rules import SHELL, Rule, glob
from nanocoder_policy_rules.wildcards import any_of

if TYPE_CHECKING:
    from nanocoder import Request, SessionInfo, Tool, ToolDefinition

    from nanocoder_policy_rules.call_context import CallContext
    from nanocoder_policy_rules.settings import UncheckedSettings as Settings

Numbered = tuple[int, Rule]


@lru_cache(maxsize=64)
def book(settings: "Settings", verdict: RuleVerdict) -> "RuleBook":
    """Return the rules of *settings* with *verdict*."""
    return RuleBook(settings.rules_that(verdict))


class RuleBook:
    """Rules of one verdict, in the order in which they are written."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._about: dict[str, list[Numbered]] = {}
        self._by_path: dict[str, re.Pattern[str]] = {}
        self._not_by_path: dict[str, list[Numbered]] = {}

    def of_tool(self, context: "CallContext") -> list[Rule]:
        """Return the rules that are about the tool of a call, and hold in its session."""
        about_tool = self._about_tool(context.tool, context.call.name)
        return [rule for _, rule in about_tool if rule.holds(context.session, context.mode)]

    def forbidding(self, context: "CallContext") -> Iterator[Rule]:
        """Yield the rules that may be about a call, those for the command that it runs included."""
        about_tool = self._about_tool(context.tool, context.call.name)
        if not context.started and self._names_no_path(context):
            about_tool = self._not_by_path[context.call.name]
        if context.command:
            about_tool = [each for each in about_tool if not each[1].pattern]
        numbered = dict(about_tool)
        if context.started:
            selected = self._selected_for(context.programs)
            numbered.update([each for each in selected if each[1].is_about(context.tool)])
        for _, rule in sorted(numbered.items()):
            if rule.holds(context.session, context.mode):
                yield rule

    def _names_no_path(self, context: "CallContext") -> bool:
        """Tell whether a call has paths, and none that a rule for relative paths could match."""
        name, names = context.call.name, context.path_names
        if name not in self._by_path:
            rules = self._about[name]
            by_path = [rule for _, rule in rules if _is_by_path(rule)]
            self._by_path[name] = any_of(glob(rule.pattern) for rule in by_path)
            self._not_by_path[name] = [each for each in rules if not _is_by_path(each[1])]
        return bool(names) and not any(map(self._by_path[name].fullmatch, names))

    def _about_tool(self, tool: "Tool[..., Any]", name: str) -> Sequence[Numbered]:
        if name not in self._about:
            named = ((at, rule) for at, rule in enumerate(self.rules) if rule.names(name))
            self._about[name] = [(at, rule) for at, rule in named if rule.is_about(tool)]
        return self._about[name]

    def _selected_for(self, programs: Collection[str] | None) -> list[Numbered]:
        """Return the rules that may match a command which starts *programs*."""
        by_program = self._by_program
        names = by_program if programs is None else ["", *(by_program.keys() & {*programs})]
        return [each for name in names for each in by_program.get(name, ())]

    @cached_property
    def _by_program(self) -> Mapping[str, list[Numbered]]:
        by_program: dict[str, list[Numbered]] = defaultdict(list)
        for at, rule in enumerate(self.rules):
            if rule.pattern and rule.names(SHELL):
                by_program[program_of(rule)].append((at, rule))
        return by_program


def _is_by_path(rule: Rule) -> bool:
    return bool(rule.pattern) and not rule.arguments and not rule.is_absolute


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
    """Tell whether a rule is about a tool by name or plugin, and about all its arguments."""
    return rule.fits_any and not rule.table.effect and not rule.table.risk


def _denies(rule: "Rule", definition: "ToolDefinition") -> bool:
    plugin = rule.table.plugin
    is_of_plugin = not plugin or fnmatchcase(definition.plugin, plugin)
    return is_of_plugin and rule.names(definition.name)
