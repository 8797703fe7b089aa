"""The rules of one verdict, ordered by what they are about.

A company may have hundreds of rules. Most are about other tools, or about commands that start none
of the programs of this one; those are never tried.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from attrs import evolve

from nanocoder_policy_rules.rules import SHELL, Rule, glob
from nanocoder_policy_rules.rules import rule as parse
from nanocoder_policy_rules.wildcards import any_of

if TYPE_CHECKING:
    from nanocoder import Mode, SessionInfo, Tool, ToolCall

    from nanocoder_policy_rules.rule_tables import RuleTable

Numbered = tuple[int, Rule]
_WILD: Final = frozenset("*?[")


class JudgedCall(Protocol):
    """A call, its tool and the command that it runs, by which rules are selected."""

    @property
    def call(self) -> "ToolCall":
        """The call."""

    @property
    def tool(self) -> "Tool[..., Any]":
        """Its tool."""

    @property
    def session(self) -> "SessionInfo":
        """The session that it belongs to."""

    @property
    def mode(self) -> "Mode":
        """The mode in which it is judged."""

    @property
    def command(self) -> str:
        """The command when this is a call of the shell, else ""."""

    @property
    def started(self) -> str:
        """The command that the call would run, whichever tool runs it."""

    @property
    def programs(self) -> Collection[str] | None:
        """The programs that the command starts, in lower case; None where one is unknown."""

    @property
    def path_names(self) -> Collection[str]:
        """All names of the paths among its arguments, folded."""


class RuleBook:
    """Rules of one verdict, in the order in which they are written."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._about: dict[str, list[Numbered]] = {}
        self._by_path: dict[str, re.Pattern[str]] = {}
        self._not_by_path: dict[str, list[Numbered]] = {}

    def of_tool(self, case: JudgedCall) -> list[Rule]:
        """Return the rules that are about the tool of a call, and hold in its session."""
        about_tool = self._about_tool(case.tool, case.call.name)
        return [rule for _, rule in about_tool if rule.holds(case.session, case.mode)]

    def forbidding(self, case: JudgedCall) -> Iterator[Rule]:
        """Yield the rules that may be about a call, those for the command that it runs included."""
        about_tool = self._about_tool(case.tool, case.call.name)
        if not case.started and self._names_no_path(case):
            about_tool = self._not_by_path[case.call.name]
        if case.command:
            about_tool = [each for each in about_tool if not each[1].pattern]
        numbered = dict(about_tool)
        if case.started:
            selected = self._selected_for(case.programs)
            numbered.update([each for each in selected if each[1].is_about(case.tool)])
        for _, rule in sorted(numbered.items()):
            if rule.holds(case.session, case.mode):
                yield rule

    def _names_no_path(self, case: JudgedCall) -> bool:
        """Tell whether a call has paths, and none that a rule for relative paths could match."""
        name, names = case.call.name, case.path_names
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
                by_program[_program_of(rule)].append((at, rule))
        return by_program


def _is_by_path(rule: Rule) -> bool:
    return bool(rule.pattern) and not rule.arguments and not rule.is_absolute


def _program_of(rule: Rule) -> str:
    """Return the program that a command must start for a rule to match, "" for any."""
    program = rule.words[0].rpartition("/")[2].casefold() if rule.words else ""
    return program if _WILD.isdisjoint(program) else ""


def forbidding_book(texts: Sequence[str], tables: "Iterable[RuleTable]") -> RuleBook:
    """Return the rules of both forms that deny or ask.

    A pattern `/secrets/**` is about the machine's root and, as in ignore files, the workspace's.
    """
    rules = book_of(texts, tables).rules
    anchored = (
        evolve(rule, pattern=f".{rule.pattern}") for rule in rules if rule.pattern[:1] == "/"
    )
    return RuleBook([*rules, *(rule for rule in anchored if rule.tool != SHELL)])


def book_of(texts: Sequence[str], tables: "Iterable[RuleTable]") -> RuleBook:
    """Return the rules of both forms."""
    return RuleBook([*map(_placed, texts), *(table.rule() for table in tables)])


def allowing_book(
    texts: Sequence[str], tables: "Iterable[RuleTable]", *, only_managed: bool
) -> RuleBook:
    """Return the rules that allow and count; with *only_managed* those of the administrator."""
    # A project's texts are here only when its folder is trusted; its tables never count.
    counted = [table for table in tables if _layer(table.rule()) != "project"]
    rules = (evolve(rule, allows=True) for rule in book_of(texts, counted).rules)
    return RuleBook(rule for rule in rules if not only_managed or _layer(rule) == "managed")


def _placed(text: str) -> Rule:
    rule = parse(text)
    return evolve(rule, origin=getattr(text, "origin", rule.origin))


def _layer(rule: Rule) -> str:
    return getattr(rule.origin(), "layer", "")
