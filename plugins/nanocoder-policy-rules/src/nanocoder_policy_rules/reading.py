"""Commands that only read, without a sandbox: a short list of system programs on plain words."""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from nanocoder_policy_rules.programs import READING, Reading
from nanocoder_policy_rules.shell_text import Command, Script
from nanocoder_policy_rules.shell_words import expand

if TYPE_CHECKING:
    from nanocoder_policy_rules.call_context import CallContext

PLAIN: Final = frozenset(
    (
        *("program", "list", "pipeline", "command", "command_name", "word", "number", "comment"),
        *("string", "string_content", "raw_string", "concatenation", "redirected_statement"),
        *("file_redirect", "file_descriptor", "test_command", "unary_expression"),
        *("binary_expression", "test_operator", "extglob_pattern"),
        *('"', "'", "&&", "||", ";", "|", "\n", ">", ">&", "&>", ">>", "[", "]", "=", "!=", "!"),
    )
)
"""The syntax of commands whose words mean what stands there."""
BUILTINS: Final = frozenset(("echo", "pwd", "test", "[", "true"))
SYSTEM_FOLDERS: Final = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")


def only_reads(context: "CallContext") -> bool:
    """Tell whether a call's command runs nothing but the short list, on files it may read."""
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
    """Tell whether all of a script is of the plain syntax."""
    return bool(script.commands) and not script.problem and script.features <= PLAIN


def command_only_reads(command: Command, context: "CallContext") -> bool:
    """Tell whether one command is of the short list, with options and files on which it reads."""
    if command.assignments or not all(each.is_harmless for each in command.redirects):
        return False
    words = list(command.words)
    if not words or any(word.is_computed for word in words):
        return not words and bool(command.redirects)
    name = words[0].text
    if name == "[" and words[-1].text == "]":
        name, words = "test", words[:-1]
    reading = READING.get(name)
    if reading is None or not (name in BUILTINS or is_of_system(name)):
        return False
    expanded = expand(words[1:], context.folder)
    operands = None if expanded is None else _operands(reading, expanded)
    return operands is not None and _may_take(reading, operands, context)


def is_of_system(name: str) -> bool:
    """Tell whether the shell finds *name* first in a directory of the system.

    A program elsewhere, such as a version manager's, may read the workspace before it does what
    its name says. A link elsewhere to the system's program of that name is that program.
    """
    return _system_program(name, os.environ.get("PATH", os.defpath))


@lru_cache(maxsize=64)
def _system_program(name: str, path: str) -> bool:
    for folder in path.split(":"):
        program = os.path.join(folder, name)
        if folder.startswith("/") and os.access(program, os.X_OK):
            named = [program, os.readlink(program)] if os.path.islink(program) else [program]
            return any(os.path.normpath(each) in _system_paths(name) for each in named)
    return False


def _system_paths(name: str) -> list[str]:
    return [f"{folder}/{name}" for folder in SYSTEM_FOLDERS]


def _operands(reading: Reading, words: Sequence[str]) -> list[str] | None:
    """Return the operands; None when an option is not on the list."""
    if reading.operands == "text" and not reading.valued:
        return list(words)  # echo prints what it does not know
    operands, rest = list[str](), iter(words)
    for word in rest:
        if word == "--":
            return operands + list(rest)
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif not _is_listed(reading, word, rest, operands):
            return None
    return operands


def _is_listed(reading: Reading, word: str, rest: Iterator[str], operands: list[str]) -> bool:
    if word.startswith("--"):
        name, is_joined, _ = word.partition("=")
        if f"{name}=" in reading.long:
            return bool(is_joined) or next(rest, None) is not None
        return name in reading.long
    if reading.number and word[1:].isdigit():
        return True
    for index, letter in enumerate(word[1:], 2):
        if letter in reading.valued:
            value = word[index:] or next(rest, None)
            if letter == "e":  # the value is the pattern, so all operands are paths
                operands.append("")
            return value is not None
        if letter not in reading.flags:
            return False
    return True


def _may_take(reading: Reading, operands: list[str], context: "CallContext") -> bool:
    match reading.operands:
        case "text":
            return True
        case "none":
            return not operands
        case "format":
            return all(operand.startswith("+") for operand in operands)
        case "one" if len(operands) > 1:
            return False
        case "pattern":
            has_pattern = "" in operands
            operands = [each for each in operands if each] if has_pattern else operands[1:]
    return all(operand == "-" or may_read(operand, context) for operand in operands)


def may_read(word: str, context: "CallContext") -> bool:
    """Tell whether a word names a file of the workspace that may be read, or nothing."""
    path = context.operand(word)
    if not path.is_inside or path.is_private:
        return False
    return not context.refusal(path) and not context.session.readable.asks(path.path)
