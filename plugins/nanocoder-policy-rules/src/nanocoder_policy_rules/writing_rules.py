"""Rules that keep a path from a tool that writes hold for commands that change it, too."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanocoder_policy_rules import rules, written_files

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.case import Case
    from nanocoder_policy_rules.rulebook import RuleBook
    from nanocoder_policy_rules.rules import Rule


def rule_for_changes(book: "RuleBook", case: "Case") -> "Rule | None":
    """Return the rule of *book* about a path that the command of a call changes."""
    if not case.started or not book.keeps_from_writing or case.is_safe:
        return None
    if not written_files.targets(case.text):
        return None
    places, names = case.changed
    selected = book.about_writing(names)
    holding = (rule for rule in selected if rule.holds(case.session, case.mode))
    return next((rule for rule in holding if _names_any(rule, places, names)), None)


def _names_any(rule: "Rule", places: "Iterable[ResolvedPath]", names: Iterable[str]) -> bool:
    if rule.is_absolute:
        return rules.names_place(rule, (place.places for place in places))
    return any(map(rules.glob(rule.pattern).fullmatch, names))
