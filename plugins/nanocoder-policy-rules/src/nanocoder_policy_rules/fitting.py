"""Whether a rule fits the arguments of a call: rules that forbid in doubt, rules that allow not."""

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attrs import evolve
from nanocoder import named_paths

from nanocoder_policy_rules import rules
from nanocoder_policy_rules.command_search import Match
from nanocoder_policy_rules.rules import Rule

if TYPE_CHECKING:
    from nanocoder_policy_rules.case import Case


def forbids(rule: Rule, case: "Case") -> Match:
    """Tell how certainly a rule that forbids is about the arguments of a call."""
    if rule.arguments:
        named = (_forbids_named(rule, name, case) for name in rule.arguments)
        return min(named)
    if not rule.pattern:
        return Match.YES
    match = case.text.match(rule.words) if case.started else Match.NO
    # A rule for commands says nothing about the other arguments of a tool that runs one, too.
    if match is Match.YES or case.command or not rule.names(case.call.name):
        return match
    return max(match, Match.YES if _names_argument(rule, case) else Match.NO)


def allows(rule: Rule, case: "Case") -> bool:
    """Tell whether a rule that allows covers all arguments of a call; doubt counts as no."""
    if rule.arguments:
        others = {key: it for key, it in case.call.arguments.items() if key not in rule.arguments}
        named = all(_allows_named(rule, name, case) for name in rule.arguments)
        return named and not named_paths(
            others
        )  # a path that the rule leaves out may lead anywhere
    if case.paths:
        names = (name for path in case.paths for name in path.names)
        return all(rules.names_path(rule, (name,)) for name in names)
    return rules.names_argument(rule, case.call.arguments, any_of=False)


def _names_argument(rule: Rule, case: "Case") -> bool:
    if case.paths:
        is_named = any(rules.names_path(rule, path.names) for path in case.paths)
        places = [path.places for path in case.paths]
        return is_named or (rule.is_absolute and rules.names_place(rule, places))
    return rules.names_argument(rule, case.call.arguments, any_of=True)


def _forbids_named(rule: Rule, name: str, case: "Case") -> Match:
    """Tell how certainly the pattern for the argument *name* is about a call."""
    if name not in case.call.arguments:
        return Match.NO
    return forbids(_for_argument(rule, name), case.with_only(name))


def _allows_named(rule: Rule, name: str, case: "Case") -> bool:
    if name not in case.call.arguments:
        return False
    alone = case.with_only(name)
    if alone.paths or name == rules.ADDRESS:
        return allows(_for_argument(rule, name), alone)
    return fnmatchcase(str(alone.call.arguments[name]), rule.arguments[name])


def _for_argument(rule: Rule, name: str) -> Rule:
    pattern = rule.arguments[name]
    return evolve(rule, arguments={}, pattern="" if pattern in {"*", "**"} else pattern)
