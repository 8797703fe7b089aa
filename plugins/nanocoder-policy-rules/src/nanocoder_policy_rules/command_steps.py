"""The steps of judging for commands: destructive ones, lasting ones, those that only read."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Verdict

from nanocoder_policy_rules import rules, shell, unproven
from nanocoder_policy_rules.blocklist import describe_damage, may_damage
from nanocoder_policy_rules.command_search import Match, Text
from nanocoder_policy_rules.operands import paths_in
from nanocoder_policy_rules.reach import HERE, Anywhere
from nanocoder_policy_rules.reading_commands import (
    PROGRAMS,
    after_cd,
    is_safe,
    may_search_through,
    with_input,
)
from nanocoder_policy_rules.removal import may_remove
from nanocoder_policy_rules.rules import Rule
from nanocoder_policy_rules.shell import compile_once

if TYPE_CHECKING:
    from nanocoder_policy_rules.case import Case

_TABLE: Final = "plugins.policy-rules"
_DEFAULT: Final = "default"
_PROBLEMS: Final = {
    "$": "is not known before it runs",
    "~": "stands for a home directory",
}
"""Characters that are not recognised, with a problem that says more than that."""
_PLAIN_WORD = r"[A-Za-z0-9_@%+=:,./-]+"
"""A word that needs no quotes."""
_TAKES_NAMES: Final = frozenset(("xargs", "parallel"))
# Deeds that others see at once, or that no undo reverts, by the words that a rule would allow.
_LASTING: Final = {
    ("git", "push"): "pushes to another repository",
    ("git", "send-pack"): "pushes to another repository",
    ("git", "branch", "-d"): "deletes a branch",
    ("git", "branch", "-D"): "deletes a branch",
    ("git", "tag", "-d"): "deletes a tag",
    ("git", "update-ref", "-d"): "deletes a branch or a tag",
    ("gh", "pr", "create"): "opens a pull request",
    ("gh", "pr", "merge"): "merges a pull request",
    ("gh", "pr", "comment"): "writes to a pull request",
    ("gh", "pr", "review"): "reviews a pull request",
    ("gh", "pr", "close"): "closes a pull request",
    ("gh", "issue", "create"): "opens an issue",
    ("gh", "issue", "comment"): "writes to an issue",
    ("gh", "release", "create"): "publishes a release",
    ("gh", "repo", "delete"): "deletes a repository",
    ("glab", "mr", "create"): "opens a merge request",
    ("glab", "mr", "merge"): "merges a merge request",
}
_LASTING_PROGRAMS: Final = frozenset(words[0] for words in _LASTING)


def deny_damage(case: "Case") -> Verdict | None:
    """Deny a command that destroys a machine, a home or the workspace, in every mode."""
    if not case.settings.blocklist or not case.started:
        return None
    deed = describe_damage(case.text, case.removal) if case.text.once(may_damage) else ""
    if not deed:
        return None
    reason = f"blocked: this {deed} ({_TABLE}.blocklist)"
    return Verdict(Decision.DENY, reason, rule="blocklist", source=_DEFAULT)


def ask_about_lasting(case: "Case") -> Verdict | None:
    """Ask in every mode about what others see at once, or nobody brings back, unless allowed."""
    if not case.started:
        return None
    if words := case.text.once(_lasting_words):
        deed = _LASTING[words]
        advice = f'allow = ["bash({" ".join(words)} *)"] in {_TABLE} allows it'
    elif case.text.once(may_remove) and (deed := case.removal.empties(case.text)):
        deed, advice = f"{deed} of the workspace", f"a rule in {_TABLE}.allow allows it"
    else:
        return None
    reason = f"this {deed}, which needs your approval in every mode; {advice}"
    return Verdict(Decision.ASK, reason, "lasting commands", _DEFAULT)


def _lasting_words(text: Text) -> tuple[str, ...]:
    if _LASTING_PROGRAMS.isdisjoint(text.words):
        return ()
    return next((words for words in _LASTING if text.match(words) is Match.YES), ())


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
    if not _fed_names_are_inside(rest, case, directory):
        return None
    for simple in rest:
        if is_safe(with_input(simple), case.reach, directory) and not case.own_program:
            continue
        rule = next((rule for rule in fitting if rules.allows_command(rule, simple)), None)
        if rule is None or not _does_what_is_named(simple, rule.words, case, directory):
            return None
        used.append(rule)
    return verdict_of_rule(used[0]) if used else None


def allow_as_named(case: "Case", unknown: Sequence[shell.Simple]) -> bool:
    """Tell whether rules with the words of the *unknown* commands would allow the whole chain.

    They are commands for which there can be a rule: no runners, and none of the shell's own.
    """
    if not _fed_names_are_inside(case.simples or (), case, HERE):
        return False
    return all(_does_what_is_named(simple, simple.words, case, HERE) for simple in unknown)


def _does_what_is_named(
    simple: shell.Simple, named: Sequence[str], case: "Case", directory: str
) -> bool:
    """Tell whether a command goes nowhere, and starts nothing, that the words do not name."""
    if not _stays_inside(simple, named, case, directory):
        return False
    if simple.words[0] != "git":
        return True
    return not (_program_of_git(simple, case, directory) or _data_of_git(simple, case, directory))


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
    directory, problem = HERE, "is not known to be read-only"
    if case.simples is None:
        part, command = shell.unknown_part(case.command)
        part_text = f"`{part}` in `{command}`" if part and part != command else f"`{command}`"
        problem = _PROBLEMS.get(part, problem)
    else:
        directory, rest = after_cd(case.simples, case.reach)
        first = _first_unread(rest, case, directory)
        part_text = f"`{shell.clip_line(_quoted(first) if first else case.command)}`"
        is_reader = first is not None and first.words[0] in PROGRAMS
        if first and is_reader and is_safe(with_input(first), Anywhere(), directory):
            problem = "reads a path that is not certainly one of the workspace that may be read"
    of_git = [simple for simple in case.simples or () if simple.words[0] == "git"]
    settings = (_program_of_git(simple, case, HERE) for simple in of_git)
    if of_git and (setting := next(filter(None, settings), "")):
        return f"{part_text} can start a program: {setting}"
    data = (_data_of_git(simple, case, directory) for simple in of_git)
    if of_git and (place := next(filter(None, data), "")):
        return f"{part_text} would use the data of a repository in {place!r}, outside"
    return unproven.in_git(case) or f"{part_text} {problem}"


def _quoted(simple: shell.Simple) -> str:
    if all(map(compile_once(_PLAIN_WORD).fullmatch, simple.words)):
        return " ".join(simple.words)
    import shlex  # only a command that is refused or asked about needs it

    return shlex.join(simple.words)


def _program_of_git(simple: shell.Simple, case: "Case", directory: str) -> str:
    """Say why a git command could start a program that the repository names, or ""."""
    if simple.words[0] != "git":
        return ""
    from nanocoder_kit_git import reason_not_plain  # most commands need none

    folder = os.path.join(case.session.cwd, case.directory, directory)
    folders = [folder, *(os.path.join(folder, each) for each in case.places.directories)]
    reasons = (reason_not_plain(each) for each in dict.fromkeys(map(os.path.realpath, folders)))
    return next(filter(None, reasons), "")


def _data_of_git(simple: shell.Simple, case: "Case", directory: str) -> str:
    """Return where a git command would use data of another repository, which no word names."""
    if simple.words[0] != "git":
        return ""
    folders = [directory, *case.places.directories]
    return next(filter(None, (case.reach.data_of_git(each, around=True) for each in folders)), "")


def _first_unread(
    simples: Sequence[shell.Simple], case: "Case", directory: str
) -> shell.Simple | None:
    for simple in simples:
        if not is_safe(with_input(simple), case.reach, directory):
            return simple
    return None


def _fed_names_are_inside(simples: Sequence[shell.Simple], case: "Case", directory: str) -> bool:
    """Tell whether what a pipe gives to xargs as names of files stands for files inside."""
    upstream: list[str] = []
    for simple in simples:
        upstream = upstream if simple.join == "|" else []
        if simple.words[0] in _TAKES_NAMES and simple.join == "|":
            parts = (part for word in upstream for part in paths_in(word) if part)
            if not all(case.reach.may_read(part, directory) for part in parts):
                return False
        upstream = [*upstream, *simple.words[1:]]
    return True


def _stays_inside(simple: shell.Simple, named: Sequence[str], case: "Case", directory: str) -> bool:
    """Tell whether all possible paths of a command are inside, or among the words of a rule."""
    words = [word for word in simple.words if word not in named]
    for part in filter(None, [part for word in words for part in paths_in(word)]):
        if not case.reach.may_read(part, directory):
            return False
    return may_search_through(with_input(simple), case.reach, directory, named)
