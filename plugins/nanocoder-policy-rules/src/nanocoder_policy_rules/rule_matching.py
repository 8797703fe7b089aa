"""Match rules with calls: rules that forbid match in doubt, rules that allow do not."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from nanocoder_policy_rules import rules
from nanocoder_policy_rules.programs import LASTING
from nanocoder_policy_rules.rule_tables import RuleVerdict
from nanocoder_policy_rules.rules import SHELL, Rule
from nanocoder_policy_rules.shell_text import Script, program_of
from nanocoder_policy_rules.shell_words import Word
from nanocoder_policy_rules.starts import starts_among

if TYPE_CHECKING:
    from nanocoder_policy_rules.call_context import CallContext
    from nanocoder_policy_rules.settings import Settings


MAX_TRIES: Final = 500
"""In so many places of one call a rule is looked for; with more it may be about it."""


class Match(IntEnum):
    """The certainty that a rule is about a call."""

    NO = 0
    MAYBE = 1
    YES = 2


@lru_cache(maxsize=2)  # what is certain is asked about first, then what is not
def matches(context: "CallContext", verdict: RuleVerdict) -> list[tuple[Rule, Match]]:
    """Return the rules in force with *verdict* that may match, and how certainly each does."""
    tool, with_commands = context.call.name, bool(context.started)
    index = _index(context.settings, verdict, tool, with_commands=with_commands)
    if not index:
        return []
    keys = _keys(context)
    listed = index.values() if keys is None else [index.get(key, ()) for key in {"", *keys}]
    ordered = sorted(chain.from_iterable(listed))
    return [(rule, forbids(rule, context)) for _, rule in ordered if _is_in_force(rule, context)]


def rules_in_force(context: "CallContext", verdict: RuleVerdict) -> list[Rule]:
    """Return the rules with *verdict* about a tool that hold."""
    rules = context.settings.rules_that(verdict)
    return [rule for rule in rules if rule.names(context.call.name) and _is_in_force(rule, context)]


def _is_in_force(rule: Rule, context: "CallContext") -> bool:
    return rule.is_about(context.tool) and rule.holds(context.session, context.mode)


@lru_cache(maxsize=256)
def _index(
    settings: "Settings", verdict: RuleVerdict, tool: str, *, with_commands: bool
) -> Mapping[str, Sequence[tuple[int, Rule]]]:
    """Return the rules about *tool*, with their places in the order, by what a call must have.

    That is a program, or without commands the first folder of a path; "" where it may be any.
    """
    index: dict[str, list[tuple[int, Rule]]] = {}
    for place, rule in enumerate(settings.rules_that(verdict)):
        is_named = rule.names(tool)
        if not (is_named or (with_commands and rule.pattern and rule.names(SHELL))):
            continue
        if with_commands:
            key = rule.program if tool == SHELL or not is_named else ""
        else:
            key = rules.first_folder(rule)
        index.setdefault(key, []).append((place, rule))
    return index


def _keys(context: "CallContext") -> Iterable[str] | None:
    """Return the index keys of a call, or None if it may have any."""
    if context.started:
        return None if context.script.problem or "" in context.starts else context.starts
    return {name.partition("/")[0] for name in context.path_names} or None


def forbids(rule: Rule, context: "CallContext") -> Match:
    """Match a rule that forbids with the arguments of a call."""
    if not rule.pattern:
        return Match.YES
    match = _forbids_commands(rule, context) if context.started else Match.NO
    # A rule for commands says nothing about the other arguments of a tool that runs one, too.
    if match is Match.YES or context.command or not rule.names(context.call.name):
        return match
    return max(match, Match.YES if _names_argument(rule, context) else Match.NO)


def allows(rule: Rule, context: "CallContext") -> bool:
    """Return True if a rule that allows covers all arguments of a call; doubt counts as no."""
    if context.paths:
        return all(rules.names_path(rule, (name,)) for name in context.path_names)
    return rules.names_argument(rule, context.call.arguments, any_of=False)


def _names_program(expected: str, program: str) -> bool:
    folder, _, name = expected.rpartition("/")
    if folder and not name.strip("*"):  # as in *(secrets/**), which is not about every program
        return fnmatchcase(f"/{program}", f"*/{expected}")
    return fnmatchcase(program.rpartition("/")[2], name)


def match_words(pattern: Sequence[str], words: Sequence[Word]) -> Match:
    """Match the beginning of *words* with the *pattern* of a rule that forbids.

    Options may stand between the words, with a value each, and in any order; a program is compared
    without its directory, unless its name is only a wildcard, and in any case.
    """
    if not pattern or not words:
        return Match.NO
    if not words[0].is_literal:
        return Match.MAYBE
    if not _names_program(pattern[0].casefold(), words[0].text.casefold()):
        return Match.NO
    rest = words[1:]
    options = [expected for expected in pattern[1:] if expected.startswith("-")]
    matches = [_match_option(option, rest) for option in options]
    operands = [expected for expected in pattern[1:] if not expected.startswith("-")]
    return min([*matches, _match_operands(operands, rest)])


def lasting(script: Script) -> str:
    """Return the beginning of a command that others see at once, or ""."""
    for words in (words for command in script.commands for words in command.started):
        for deed in LASTING.get(program_of(words), ()):
            if match_words(deed.split(), words) is Match.YES:
                return deed
    return ""


def _match_option(option: str, words: Sequence[Word]) -> Match:
    """Match one option; short ones match as a set of letters, however they are joined.

    Only the program knows which of its long options is which short one: they may be the same if
    they begin alike.
    """
    names = [word.text.partition("=")[0] for word in words if word.text.startswith("-")]
    short = {letter for name in names if name[1:2] != "-" for letter in name[1:]}
    long = [name for name in names if len(name) > len("--") and name[1] == "-"]
    missing = {*option[1:]} - short if option[1:].isalnum() else {option}
    if not missing or any(
        fnmatchcase(text, option) for text in (*names, *(word.text for word in words))
    ):
        return Match.YES
    if option.startswith("--"):
        is_alike = option[2:3] in short or any(map(option.startswith, long))
    else:
        is_alike = {each.casefold() for each in missing} <= {name[2].casefold() for name in long}
    return Match.MAYBE if is_alike or any(word.is_computed for word in words) else Match.NO


def _match_operands(expected: Sequence[str], words: Sequence[Word]) -> Match:
    best, at, after_option = Match.YES, 0, False
    for word in words:
        if at == len(expected):
            return best
        if not word.is_literal:
            best, at, after_option = Match.MAYBE, at + 1, False
        elif fnmatchcase(word.text, expected[at]):
            at, after_option = at + 1, False
        elif word.text.startswith("-"):
            after_option = True
        elif not after_option:
            return Match.NO
        else:
            after_option = False
    return best if at == len(expected) else Match.NO


def _forbids_commands(rule: Rule, context: "CallContext") -> Match:
    """Match the commands that run, and in doubt words of an argument: a program may run these.

    One word alone is too common in arguments to be denied for certain.
    """
    if context.script.problem:
        return Match.MAYBE
    best, in_argument = Match.NO, Match.YES if len(rule.words) > 1 else Match.MAYBE
    for tried, start in enumerate(starts_among(context.starts, rule.program)):
        most = Match.YES if start.is_run else in_argument
        if best < most:
            best = max(best, min(most, match_words(rule.words, start.words)))
        if tried >= MAX_TRIES:
            return max(best, Match.MAYBE)
    return best


def _names_argument(rule: Rule, context: "CallContext") -> bool:
    if context.paths:
        is_named = rules.names_path(rule, context.path_names)
        locations = [path.places for path in context.paths]
        return is_named or (rule.is_absolute and rules.names_place(rule.pattern, locations))
    return rules.names_argument(rule, context.call.arguments, any_of=True)
