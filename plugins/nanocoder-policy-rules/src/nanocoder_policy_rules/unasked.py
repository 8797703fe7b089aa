"""Commands that need no question: those that only read, and those that rules which allow cover.

Without a sandbox, a short list of system programs reads, on plain words. Rules have to cover each
part of a command, and what each part names.
"""

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from attrs import evolve
from nanocoder_kit_process.environment import LOADERS
from nanocoder_kit_process.programs import find_program

from nanocoder_policy_rules.programs import READING, STARTING, TAKING_NO_FILE, UNRULED
from nanocoder_policy_rules.rules import Rule
from nanocoder_policy_rules.shell_text import Command, Script, unwrapped
from nanocoder_policy_rules.shell_words import Word

if TYPE_CHECKING:
    from nanocoder_policy_rules.call_context import CallContext

PLAIN: Final = frozenset(
    (
        *("program", "list", "pipeline", "command", "command_name", "word", "number", "comment"),
        *("string", "string_content", "raw_string", "concatenation", "redirected_statement"),
        *("file_redirect", "file_descriptor"),
        *('"', "'", "&&", "||", ";", "|", "\n", ">", ">&", "&>", ">>"),
    )
)
"""The syntax of commands whose words mean what stands there."""
BUILTINS: Final = frozenset(("echo", "pwd", "true"))
SYSTEM_FOLDERS: Final = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
_PLAIN_OPTION: Final = re.compile(r"--|-\d+|--?[A-Za-z][A-Za-z0-9-]*(?:=.*)?", re.DOTALL)
# `tar xf` is `tar -x -f`.
_OLD_LETTERS: Final = re.compile(r"[A-Za-z]+")
_ENTERS: Final = frozenset(("cd", "pushd", "popd"))
_FORCING: Final = frozenset("+:")
"""First letters of words with which git overwrites or deletes a remote branch."""
_IS_HARMLESS: Final = attrgetter("is_harmless")
_IS_LITERAL: Final = attrgetter("is_literal")
MAX_PLACES: Final = 4
MAX_JOINED: Final = 6
_PARTS: Final = re.compile(r"[=:,@]")
_ADDRESS: Final = re.compile(r"(?:git\+)?(?:https?|ssh)://[\w.@:/?&=%+,#~-]*")
_UNSAFE_NAMES: Final = frozenset(("PATH", "HOME", "SHELL"))
_UNCHECKED: Final = frozenset(("function_definition", "c_style_for_statement", "ERROR"))


def only_reads(context: "CallContext") -> bool:
    """Return True if a call's command runs nothing but the short list, on files it may read."""
    return why_not_reading(context) is None


@lru_cache(maxsize=1)  # several steps ask about the same call
def why_not_reading(context: "CallContext") -> str | None:
    """Return the part of a command that is not known only to read, None where there is none."""
    script = context.script
    if not is_plain(script):
        return script.problem or "it is more than plain words"
    for command in script.commands:
        if not command_only_reads(command, context):
            return f"`{command.text}`"
    return None


def is_plain(script: Script) -> bool:
    """Return True if all of a script is of the plain syntax."""
    return bool(script.commands) and not script.problem and script.features <= PLAIN


def command_only_reads(command: Command, context: "CallContext") -> bool:
    """Return True if a command is of the short list, with options and files that it only reads."""
    if command.assignments or not all(map(_IS_HARMLESS, command.redirects)):
        return False
    if not command.words or not all(map(_IS_LITERAL, command.words)):
        return not command.words and bool(command.redirects)
    name, *words = [word.text for word in command.words]
    if name not in READING or not (name in BUILTINS or is_of_system(name)):
        return False
    return all(_may_take(name, word, context) for word in words)


def is_of_system(name: str) -> bool:
    """Return True if the shell finds *name* first in a directory of the system.

    A program elsewhere, such as a version manager's, may read the workspace before it does what
    its name says. A link elsewhere to the system's program of that name is that program.
    """
    return _system_program(name, os.environ.get("PATH", os.defpath))


@lru_cache(maxsize=64)
def _system_program(name: str, path: str) -> bool:
    program = find_program(name, path)
    named = (program, os.readlink(program) if os.path.islink(program) else "")
    return any(each in (f"{folder}/{name}" for folder in SYSTEM_FOLDERS) for each in named)


def _may_take(name: str, word: str, context: "CallContext") -> bool:
    if re.fullmatch(READING[name], word, re.DOTALL):
        return True
    return not word.startswith("-") and name not in TAKING_NO_FILE and may_read(word, context)


def may_read(word: str, context: "CallContext") -> bool:
    """Return True if a word names a file of the workspace that may be read, or nothing."""
    path = context.operand(word)
    if not path.is_inside or path.is_private:
        return False
    return not context.refusal(path) and not context.session.readable.asks(path.path)


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
        elif command.words and not _only_reads_inside(command, places):
            rule = next((rule for rule in rules if _covers_in(rule, command, places)), None)
            if rule is None:
                return None
            used.append(rule)
    return used[0] if used else None


def _only_reads_inside(command: Command, places: "Sequence[CallContext]") -> bool:
    bare = evolve(unwrapped(command), assignments=(), redirects=())
    return all(command_only_reads(bare, place) for place in places)


def _covers_in(rule: Rule, command: Command, places: "Sequence[CallContext]") -> bool:
    """Return True if a rule covers a command in all *places* where it may run."""
    inner = unwrapped(command)
    if inner.program == "git" and any(map(_may_start, places)):
        return False
    return any(all(_covers(rule, each, place) for place in places) for each in {inner, command})


def why_not_covered(rules: Sequence[Rule], context: "CallContext") -> str:
    """Return the reason a rule about the command does not cover an argument, or ""."""
    for command in map(unwrapped, context.script.commands):
        for rule in rules:
            rest = _behind(rule, command)
            word = next((each for each in rest or () if not _is_covered(each, rule, context)), None)
            if word is not None:
                named = (context.operand(part) for part in _parts_of(word.text) if "/" in part)
                is_inside = all(path.is_inside for path in named)
                where = "" if is_inside else ", which is outside the workspace"
                return f"the rule {rule.text!r} does not cover {word.text!r}{where}"
    return ""


def _covers(rule: Rule, command: Command, context: "CallContext") -> bool:
    rest = _behind(rule, command)
    return rest is not None and all(_is_covered(word, rule, context) for word in rest)


def _behind(rule: Rule, command: Command) -> list[Word] | None:
    """Return the words that the `*` of a rule stands for; None for another command."""
    expected, words = rule.words, command.words
    if not expected or len(expected) > len(words) or words[0].text in UNRULED:
        return None
    pairs = zip(expected, words, strict=False)
    if any(word.is_computed or not fnmatchcase(word.text, want) for want, word in pairs):
        return None
    rest = [word for word in words[len(expected) :] if word.text not in expected]
    if command.program == "tar" and len(words) > 1 and _OLD_LETTERS.fullmatch(words[1].text):
        rest = [Word(f"-{words[1].text}"), *rest]
    return rest


def _is_covered(word: Word, rule: Rule, context: "CallContext") -> bool:
    """Return True if the `*` of a rule stands for a word: it starts nothing, and stays inside."""
    program = rule.words[0].rpartition("/")[2]
    starting = STARTING.get(" ".join(rule.words[:2]), STARTING.get(program, ()))
    if word.is_computed or word.has_glob or word.text[:1] in _FORCING:
        return False
    text = word.text
    if text.startswith("-"):
        name = text.partition("=")[0]
        is_starting = any(_is_option(name, option) for option in starting)
        if is_starting or not _PLAIN_OPTION.fullmatch(text):
            return False
    return all(_stays_inside(part, context) for part in _parts_of(text))


def _parts_of(text: str) -> set[str]:
    """Return the parts of a word that may be paths: values of options, or behind a sign."""
    text = _ADDRESS.sub("", text)
    joined = [text[at:] for at in range(2, MAX_JOINED)] if text[:1] == "-" != text[1:2] else []
    return {text, *_PARTS.split(text), *joined}


def _is_option(name: str, option: str) -> bool:
    """Return True if *name* may be *option*: abbreviated, or joined to other letters."""
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
    """Return True if assignments and redirections change nothing that is there already."""
    for name, value in command.assignments:
        if value.is_computed or LOADERS.fullmatch(name) or name in _UNSAFE_NAMES:
            return False
        if not all(_stays_inside(part, context) for part in _PARTS.split(value.text) if part):
            return False
    redirects = (each for each in command.redirects if not each.is_harmless)
    files = [(each.operator, each.target) for each in redirects if each.target]
    targets = (word.text for operator, word in files if ">" in operator)
    if any(os.path.lexists(os.path.join(context.folder, path)) for path in targets):
        return False
    return all(word.is_literal and _stays_inside(word.text, context) for _, word in files)


def _entered(command: Command, context: "CallContext") -> "CallContext | None":
    """Return the context in the directory that is entered, if it is what it is called."""
    if command.program != "cd" or len(command.words) != len(("cd", "DIRECTORY")):
        return None
    word = command.words[1]
    path = context.operand(word.text)
    is_plain = word.is_literal and ".." not in word.text.split("/") and len({*path.names}) == 1
    return context.in_directory(path.path) if is_plain and path.is_inside else None


def _may_start(context: "CallContext") -> bool:
    """Return True if git could start a program that a repository here names."""
    from nanocoder_kit_process.git import reason_not_plain  # most commands need none

    return bool(reason_not_plain(os.path.realpath(context.folder)))
