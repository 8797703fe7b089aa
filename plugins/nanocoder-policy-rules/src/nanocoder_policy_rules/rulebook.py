"""The rules of one verdict, ordered by what they are about.

A company may have hundreds of rules. Most are about other tools, or about commands that have none
of the words of this one; those are never tried.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from attrs import evolve

from nanocoder_policy_rules.rules import SHELL, Rule
from nanocoder_policy_rules.rules import rule as parse

if TYPE_CHECKING:
    from nanocoder import Mode, SessionInfo, Tool, ToolCall

    from nanocoder_policy_rules.rule_tables import RuleTable

Numbered = tuple[int, Rule]
_WILD: Final = frozenset("*?[")


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
    def text(self) -> SearchedText:
        """The command, split up."""


class RuleBook:
    """Rules of one verdict, in the order in which they are written."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._about: dict[str, list[Numbered]] = {}

    def of_tool(self, case: JudgedCall) -> list[Rule]:
        """Return the rules that are about the tool of a call, and hold in its session."""
        rules = (rule for _, rule in self._about_tool(case.tool, case.call.name))
        return [rule for rule in rules if rule.holds(case.session, case.mode)]

    def forbidding(self, case: JudgedCall) -> Iterator[Rule]:
        """Yield the rules that may be about a call, those for the command that it runs included."""
        numbered = dict(self._about_tool(case.tool, case.call.name))
        if case.command:
            numbered = {at: rule for at, rule in numbered.items() if not rule.pattern}
        if case.started:
            candidates = self._for_commands.select(case)
            numbered |= {at: rule for at, rule in candidates if rule.is_about(case.tool)}
        for _, rule in sorted(numbered.items()):
            if rule.holds(case.session, case.mode):
                yield rule

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

    def select(self, case: JudgedCall) -> Iterator[Numbered]:
        """Yield the rules that may fit the command of a call."""
        words: Collection[str] = self._by_word
        if not case.text.is_computed:  # what is computed may become any word
            words = ["", *(case.text.words.keys() & self._by_word.keys())]
        for word in words:
            yield from self._by_word.get(word, ())


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
