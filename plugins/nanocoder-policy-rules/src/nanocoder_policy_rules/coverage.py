"""Whether rules that allow cover a whole command: each part of it, and what each part names."""

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from attrs import evolve
from nanocoder_kit_process.environment import LOADERS

from nanocoder_policy_rules.programs import STARTING, UNRULED
from nanocoder_policy_rules.reading import command_only_reads, may_read
from nanocoder_policy_rules.rule_tables import RuleTable
from nanocoder_policy_rules.rules import Rule
from nanocoder_policy_rules.shell_text import Command, Redirect, unwrapped
from nanocoder_policy_rules.shell_words import Word

if TYPE_CHECKING:
    from nanocoder_policy_rules.call_context import CallContext

_ANY: Final = RuleTable("allow")
_PLAIN_OPTION: Final = re.compile(
    r"--|-[A-Za-z0-9]|-\d+|--?[A-Za-z][A-Za-z0-9-]*(?:=.*)?", re.DOTALL
)
# `tar xf` is `tar -x -f`.
_OLD_LETTERS: Final = re.compile(r"[A-Za-z]+")
_LETTERS: Final = re.compile(r"-[A-Za-z]{2,4}")
_ENTERS: Final = frozenset(("cd", "pushd", "popd"))
_FORCING: Final = frozenset("+:")
"""How words begin with which git overwrites or deletes a branch elsewhere."""
MAX_PLACES: Final = 4
MAX_JOINED: Final = 6
_PARTS: Final = re.compile(r"[=:,@]")
_ADDRESS: Final = re.compile(r"(?:git\+)?(?:https?|ssh)://[\w.@:/?&=%+,#~-]*")
_UNSAFE_NAMES: Final = frozenset(("PATH", "HOME", "SHELL"))
_UNCHECKED: Final = frozenset(("function_definition", "c_style_for_statement", "ERROR"))


def covering_rule(rules: Sequence[Rule], context: "CallContext") -> Rule | None:
    """Return the first rule used where *rules* cover all that a command does; None otherwise."""
    script = context.script
    if not rules or script.problem or not script.commands or script.features & _UNCHECKED:
        return None
    used = list[Rule]()
    places = [context]
    for command in script.commands:
        if not all(_is_plain_around(command, place) for place in places):
            return None
        if command.program in _ENTERS:
            entered = [_entered(command, place) for place in places]
            if None in entered or len(places) > MAX_PLACES:
                return None
            places += filter(None, entered)  # whether it goes there is not known
        elif command.words and not _only_reads(command, places):
            rule = next((rule for rule in rules if _covers_in(rule, command, places)), None)
            if rule is None:
                return None
            used.append(rule)
    return used[0] if used else None


def _only_reads(command: Command, places: "Sequence[CallContext]") -> bool:
    bare = evolve(unwrapped(command), assignments=(), redirects=())
    return all(command_only_reads(bare, place) for place in places)


def _covers_in(rule: Rule, command: Command, places: "Sequence[CallContext]") -> bool:
    """Tell whether a rule covers a command in all *places* where it may run."""
    inner = unwrapped(command)
    if inner.program == "git" and any(map(_may_start, places)):
        return False
    return any(all(_covers(rule, each, place) for place in places) for each in {inner, command})


def covers(words: Sequence[str], command: Command, context: "CallContext") -> bool:
    """Tell whether a rule of these *words* covers a command."""
    return _covers(Rule(_ANY, "", " ".join(words)), command, context)


def _covers(rule: Rule, command: Command, context: "CallContext") -> bool:
    expected, words = rule.words, command.words
    if not expected or len(expected) > len(words) or words[0].text in UNRULED:
        return False
    pairs = zip(expected, words, strict=False)
    if any(word.is_computed or not fnmatchcase(word.text, want) for want, word in pairs):
        return False
    starting = STARTING.get(" ".join(expected[:2]), STARTING.get(command.program, ()))
    rest = [word for word in words[len(expected) :] if word.text not in expected]
    if command.program == "tar" and len(words) > 1 and _OLD_LETTERS.fullmatch(words[1].text):
        rest = [Word(f"-{words[1].text}", (f"-{words[1].text}",)), *rest]
    return all(_is_covered(word, starting, context) for word in rest)


def _is_covered(word: Word, starting: Sequence[str], context: "CallContext") -> bool:
    """Tell whether the `*` of a rule stands for a word: it starts nothing, and stays inside."""
    if word.is_computed or word.has_glob or word.text[:1] in _FORCING:
        return False
    text = word.text
    if text.startswith("-"):
        name = text.partition("=")[0]
        is_plain = _PLAIN_OPTION.fullmatch(text) if not _LETTERS.fullmatch(text) else True
        if not is_plain or any(_is_option(name, option) for option in starting):
            return False
    text = _ADDRESS.sub("", text)
    # A value may be joined to its option, and behind other letters.
    joined = [text[at:] for at in range(2, MAX_JOINED)] if text[:1] == "-" != text[1:2] else []
    return all(_stays_inside(part, context) for part in {text, *_PARTS.split(text), *joined})


def _is_option(name: str, option: str) -> bool:
    """Tell whether *name* may be *option*: abbreviated, or joined to other letters."""
    if name.startswith("--"):
        return len(name) > len("--") and option.startswith(name)
    if option.startswith("--") or len(option) > len("-x"):
        return name == option
    return option[1] in name[1:]


def _stays_inside(word: str, context: "CallContext") -> bool:
    if "/" not in word and not os.path.lexists(os.path.join(context.folder, word)):
        # No file, unless a command makes one; a name of a secret stays one.
        return word != ".." and not context.refusal(context.operand(word))
    path = context.operand(word)
    return path.protection is None and may_read(word, context)


def _is_plain_around(command: Command, context: "CallContext") -> bool:
    """Tell whether assignments and redirections change nothing beyond what can be seen."""
    for name, value in command.assignments:
        if value.is_computed or LOADERS.fullmatch(name) or name in _UNSAFE_NAMES:
            return False
        if not all(_stays_inside(part, context) for part in _PARTS.split(value.text) if part):
            return False
    return all(_is_plain_redirect(redirect, context) for redirect in command.redirects)


def _is_plain_redirect(redirect: Redirect, context: "CallContext") -> bool:
    if redirect.target is None or redirect.is_harmless:
        return True
    target = redirect.target
    return target.is_literal and _stays_inside(target.text, context)


def _entered(command: Command, context: "CallContext") -> "CallContext | None":
    """Return the context in the directory that is entered, if it is what it is called."""
    if command.program != "cd" or len(command.words) != len(("cd", "DIRECTORY")):
        return None
    word = command.words[1]
    path = context.operand(word.text)
    is_plain = word.is_literal and ".." not in word.text.split("/") and len({*path.names}) == 1
    return context.in_directory(path.path) if is_plain and path.is_inside else None


def _may_start(context: "CallContext") -> bool:
    """Tell whether git could start a program that a repository here names."""
    from nanocoder_kit_git import reason_not_plain  # most commands need none

    return bool(reason_not_plain(os.path.realpath(context.folder)))
