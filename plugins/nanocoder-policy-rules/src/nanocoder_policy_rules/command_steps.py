"""The steps of judging for commands: destructive ones, lasting ones, those that only read."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Verdict

from nanocoder_policy_rules import git_settings, rules, shell
from nanocoder_policy_rules.blocklist import describe_damage
from nanocoder_policy_rules.command_search import Match
from nanocoder_policy_rules.operands import paths_in
from nanocoder_policy_rules.reach import HERE
from nanocoder_policy_rules.reading_commands import (
    after_cd,
    is_safe,
    may_search_through,
    with_input,
)
from nanocoder_policy_rules.rules import Rule
from nanocoder_policy_rules.shell import compile_once

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.case import Case

MAX_PATHS: Final = 4_000
_TABLE: Final = "plugins.policy-rules"
_DEFAULT: Final = "default"
# The words of these programs are no paths: text, messages, names of branches, a pattern.
_TEXT: Final = frozenset(("echo", "printf"))
_TEXT_OF_GIT: Final = frozenset(("branch", "checkout", "commit", "log", "switch", "tag"))
_CODE: Final = r"[\s()\[\]{}'\"`;|&<>,]+"
_SEARCHES: Final = frozenset(("grep", "egrep", "fgrep", "rg"))
# Deeds that others see at once, or that no undo reverts, by the words that a rule would allow.
_LASTING: Final = {
    ("git", "push"): "pushes to another repository",
    ("git", "send-pack"): "pushes to another repository",
    ("git", "branch", "-d"): "deletes a branch",
    ("git", "branch", "-D"): "deletes a branch",
    ("git", "tag", "-d"): "deletes a tag",
    ("git", "update-ref", "-d"): "deletes a branch or a tag",
}


def deny_damage(case: "Case") -> Verdict | None:
    """Deny a command that destroys a machine, a home or the workspace, in every mode."""
    if not case.settings.blocklist or not case.started:
        return None
    deed = describe_damage(case.started, case.text, case.removal)
    if not deed:
        return None
    reason = f"blocked: this {deed} ({_TABLE}.blocklist)"
    return Verdict(Decision.DENY, reason, rule="blocklist", source=_DEFAULT)


def paths_in_words(case: "Case") -> "Iterator[ResolvedPath]":
    """Yield the paths that the words of a command may name."""
    if not case.started:
        return
    if case.command and case.simples:
        words = (part for simple in case.simples for part in _words_of_files(simple.words) if part)
        yield from map(case.reach.operand, words)
        return
    for word, path in islice(case.reach.places(case.words, case.text.directories), MAX_PATHS):
        if "/" in word or path.exists:
            yield path


def _words_of_files(words: Sequence[str]) -> Iterator[str]:
    """Yield the possible paths among the words of one command; messages and patterns are none."""
    program, *rest = words
    if program in _TEXT or (program == "git" and not _TEXT_OF_GIT.isdisjoint(rest[:1])):
        return
    if program in _SEARCHES:
        pattern = next((word for word in rest if not word.startswith("-")), "")
        rest = [word for word in rest if word is not pattern]
    for word in rest:
        yield from paths_in(word)
        if compile_once(_CODE).search(word):  # open('private/x')
            yield from (part for part in compile_once(_CODE).split(word) if "/" in part)


def ask_about_lasting(case: "Case") -> Verdict | None:
    """Ask about pushes and deleted branches in every mode, unless a rule allowed them."""
    if not case.started:
        return None
    deeds = (deed for words, deed in _LASTING.items() if case.text.match(words) is Match.YES)
    if deed := next(deeds, ""):
        rule_words = next(words for words, each in _LASTING.items() if each == deed)
        advice = f'allow = ["bash({" ".join(rule_words)} *)"] in {_TABLE} allows it'
    elif deed := case.removal.empties(case.text):
        deed, advice = f"{deed} of the workspace", f"a rule in {_TABLE}.allow allows it"
    else:
        return None
    reason = f"this {deed}, which needs your approval in every mode; {advice}"
    return Verdict(Decision.ASK, reason, "lasting commands", _DEFAULT)


def allow_reading(case: "Case") -> Verdict | None:
    """Allow a command that is recognised and only reads."""
    if not case.is_safe:
        return None
    return Verdict(Decision.ALLOW, "a command that only reads", source=_DEFAULT)


def allow_by_rules(case: "Case", fitting: Sequence[Rule]) -> Verdict | None:
    """Allow a chain when each of its commands has a rule or only reads."""
    if not fitting or not case.simples:
        return None
    directory, rest = after_cd(case.simples, case.reach)
    used: list[Rule] = []
    for simple in rest:
        if is_safe(with_input(simple), case.reach, directory) and not case.own_program:
            continue
        rule = next((rule for rule in fitting if rules.allows_command(rule, simple)), None)
        if rule is None or not _stays_inside(simple, rule, case, directory):
            return None
        if _program_of_git(simple, case, directory):
            return None
        used.append(rule)
    return verdict_of_rule(used[0]) if used else None


def verdict_of_rule(rule: Rule) -> Verdict:
    """Return the verdict of a rule that allows."""
    return Verdict(
        Decision.ALLOW,
        f"allowed by the rule {rule.text!r}",
        rule.text,
        rule.source(f"{_TABLE}.allow"),
        # A rule for some paths or arguments does not cover the commands among a call's steps.
        covers_steps=rule.is_bare,
    )


def unknown_part(case: "Case") -> str:
    """Return the part of a command that keeps it from running unasked, "" without a command."""
    if not case.command:
        return ""
    if case.own_program:
        return f"{case.own_program} is in the workspace and may do anything"
    if case.simples is None:
        part, command = shell.unknown_part(case.command)
        part_text = f"`{part}` in `{command}`" if part and part != command else f"`{command}`"
    else:
        directory, rest = after_cd(case.simples, case.reach)
        first = next((each for each in rest if not _is_read(each, case, directory)), None)
        part_text = f"`{shell.clip_line(str(first or case.command))}`"
    settings = (_program_of_git(simple, case, HERE) for simple in case.simples or ())
    if setting := next(filter(None, settings), ""):
        return f"{part_text} can start a program, which the repository's {setting!r} setting names"
    return f"{part_text} is not known to be read-only"


def _program_of_git(simple: shell.Simple, case: "Case", directory: str) -> str:
    """Return the setting of the repository by which a git command would start a program."""
    if simple.words[0] != "git":
        return ""
    folder = os.path.join(case.session.cwd, case.directory, directory)
    return git_settings.setting_that_runs(os.path.realpath(folder))


def _is_read(simple: shell.Simple, case: "Case", directory: str) -> bool:
    return is_safe(with_input(simple), case.reach, directory)


def _stays_inside(simple: shell.Simple, rule: Rule, case: "Case", directory: str) -> bool:
    """Tell whether all possible paths of a command are inside, or named by the rule."""
    words = (word for word in simple.words if word not in rule.words)
    parts = (part for word in words for part in paths_in(word) if part)
    return all(case.reach.may_read(part, directory) for part in parts) and may_search_through(
        with_input(simple), case.reach, directory, rule.words
    )
