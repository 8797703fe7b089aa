"""Rules that keep a path from a tool that writes hold for commands that change it, too."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanocoder_policy_rules import candidates, expansion, rules, written_files
from nanocoder_policy_rules.reach import HERE

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.case import Case
    from nanocoder_policy_rules.rulebook import RuleBook
    from nanocoder_policy_rules.rules import Rule


def rule_for_changes(book: "RuleBook", case: "Case") -> "Rule | None":
    """Return the rule of *book* about a path that the command of a call changes."""
    if not case.started or not book.keeps_from_writing or case.is_safe:
        return None
    places, names = case.changed
    selected = book.about_writing(names) if places else ()
    holding = (rule for rule in selected if rule.holds(case.session, case.mode))
    return next((rule for rule in holding if _names_any(rule, places, names)), None)


def changed_places(case: "Case") -> "tuple[list[ResolvedPath], set[str]]":
    """Return what the command of a call changes, and all names of it as rules compare them."""
    places = list(_changed(case))
    return places, {rules.fold_path(name) for place in places for name in place.names}


def _changed(case: "Case") -> "Iterable[ResolvedPath]":
    folders = (HERE, *case.places.directories)
    for target in dict.fromkeys(each.word for each in written_files.targets(case.text)):
        names = [target, *expansion.expand([target], case.reach.folder, folders)]
        for name in dict.fromkeys(map(candidates.expand_home, names)):
            for folder in folders:
                yield case.reach.operand(os.path.join(folder, name) if folder != HERE else name)


def _names_any(rule: "Rule", places: "Iterable[ResolvedPath]", names: Iterable[str]) -> bool:
    if rule.is_absolute:
        return rules.names_place(rule, (place.places for place in places))
    return any(map(rules.glob(rule.pattern).fullmatch, names))
