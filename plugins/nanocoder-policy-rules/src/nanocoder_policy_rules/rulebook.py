"""The rules of one verdict, ordered by what they are about.

A company may have hundreds of rules. Most are about other tools, or about commands that have none
of the words of this one; those are never tried.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from attrs import evolve

from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.rules import SHELL, Rule, glob, with_path
from nanocoder_policy_rules.rules import rule as parse
from nanocoder_policy_rules.wildcards import any_of

if TYPE_CHECKING:
    from nanocoder import Mode, SessionInfo, Tool, ToolCall

    from nanocoder_policy_rules.rule_tables import RuleTable

Numbered = tuple[int, Rule]
_WILD: Final = frozenset("*?[")
_READERS: Final = ("read_file", "grep", "glob", "list_files", "code_map", "code_complexity")
_WRITERS: Final = ("write_file", "edit_file", "atomic_edit", "apply_patch")


class SearchedText(Protocol):
    """A command, and the words that it could hide."""

    @property
    def is_computed(self) -> bool:
        """Tell whether a part of the command is known only when it runs."""

    @property
    def words(self) -> Mapping[str, None]:
        """Every word that the text could be hiding."""


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
    def path_names(self) -> Collection[str]:
        """All names of the paths among its arguments, folded."""

    @property
    def text(self) -> SearchedText:
        """The command, split up."""


class RuleBook:
    """Rules of one verdict, in the order in which they are written."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._about: dict[str, list[Numbered]] = {}
        self._by_path: dict[str, re.Pattern[str]] = {}
        self._not_by_path: dict[str, list[Numbered]] = {}
        self._bare: dict[str, list[Numbered]] = {}

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
            about_tool = self._without_pattern(about_tool, case.call.name)
        numbered = dict(about_tool)
        if case.started:
            selected = self._for_commands.select(case)
            numbered.update([each for each in selected if each[1].is_about(case.tool)])
        for _, rule in sorted(numbered.items()):
            if rule.holds(case.session, case.mode):
                yield rule

    def keeps_paths(self, session: "SessionInfo", mode: "Mode") -> bool:
        """Tell whether a rule that holds now is about paths that tools may read."""
        return any(rule.holds(session, mode) for rule in self._about_reading)

    @property
    def keeps_from_writing(self) -> bool:
        """Tell whether a rule is about paths that tools may write."""
        return bool(self._about_writing)

    def about_writing(self, names: Iterable[str]) -> list[Rule]:
        """Return the rules that may keep paths with one of *names* from tools that write files."""
        if any(map(self._writing_pattern.fullmatch, names)):
            return self._about_writing
        return self._about_writing_anywhere

    @cached_property
    def _about_reading(self) -> list[Rule]:
        return list(self._about_paths(_READERS, "read"))

    @cached_property
    def _writing_pattern(self) -> re.Pattern[str]:
        return any_of(glob(rule.pattern) for rule in self._about_writing if not rule.is_absolute)

    @cached_property
    def _about_writing_anywhere(self) -> list[Rule]:
        return [rule for rule in self._about_writing if rule.is_absolute]

    @cached_property
    def _about_writing(self) -> list[Rule]:
        return list(self._about_paths(_WRITERS, "write"))

    def _about_paths(self, tools: Sequence[str], effect: str) -> Iterator[Rule]:
        for rule in map(with_path, self.rules):
            if rule.pattern and rule.effect in {"", effect} and any(map(rule.names, tools)):
                yield rule

    def _names_no_path(self, case: JudgedCall) -> bool:
        """Tell whether a call has paths, and none that a rule for relative paths could fit."""
        name, names = case.call.name, case.path_names
        if name not in self._by_path:
            rules = self._about[name]
            by_path = [rule for _, rule in rules if _is_by_path(rule)]
            self._by_path[name] = any_of(glob(rule.pattern) for rule in by_path)
            self._not_by_path[name] = [each for each in rules if not _is_by_path(each[1])]
        return bool(names) and not any(map(self._by_path[name].fullmatch, names))

    def _without_pattern(self, rules: Sequence[Numbered], tool: str) -> Sequence[Numbered]:
        if tool not in self._bare:
            self._bare[tool] = [(at, rule) for at, rule in rules if not rule.pattern]
        return self._bare[tool]

    def _about_tool(self, tool: "Tool[..., Any]", name: str) -> Sequence[Numbered]:
        if name not in self._about:
            named = ((at, rule) for at, rule in enumerate(self.rules) if rule.names(name))
            self._about[name] = [(at, rule) for at, rule in named if rule.is_about(tool)]
        return self._about[name]

    @cached_property
    def _for_commands(self) -> "CommandRules":
        numbered = enumerate(self.rules)
        return CommandRules(
            (at, rule) for at, rule in numbered if rule.pattern and rule.names(SHELL)
        )


class CommandRules:
    """Rules for commands, by a word without which they fit no command."""

    def __init__(self, rules: Iterable[Numbered]) -> None:
        self._by_word: dict[str, list[Numbered]] = defaultdict(list)
        for at, rule in rules:
            self._by_word[_needed_word(rule)].append((at, rule))

    def select(self, case: JudgedCall) -> list[Numbered]:
        """Return the rules that may fit the command of a call."""
        if not self._by_word:
            return []
        words: Collection[str] = self._by_word
        if not case.text.is_computed:  # what is computed may become any word
            words = ["", *(case.text.words.keys() & self._by_word.keys())]
        return [each for word in words for each in self._by_word.get(word, ())]


def _is_by_path(rule: Rule) -> bool:
    return bool(rule.pattern) and not rule.arguments and not rule.is_absolute


def _needed_word(rule: Rule) -> str:
    """Return a word that a command must have for a rule to fit, or ""."""
    plain = (word for word in rule.words if word[:1] != "-" and _WILD.isdisjoint(word))
    return next(plain, "")


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
