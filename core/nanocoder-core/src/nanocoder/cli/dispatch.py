"""From the words of the command line to a command, without importing a plugin."""

import os
import shlex
from argparse import Namespace
from collections.abc import Collection, Sequence
from functools import partial
from itertools import takewhile
from typing import Final

from nanocoder_schema import did_you_mean

from nanocoder.cli.commands import (
    BEFORE_A_COMMAND,
    COMMANDS,
    HELP,
    Commands,
    UnknownCommandError,
    build,
    first_words,
    options_of,
    target_of,
)
from nanocoder.cli.host import Host
from nanocoder.errors import NanocoderError, UsageError
from nanocoder.hooks.contributions import Argument

HABITS: Final = ("-p", "--print", "--prompt")
"""How other agents spell `run`."""
INSTALL: Final = "plugins install"
CALL: Final = "NANOCODER_CALL"
"""Set in the environment of every process that a tool starts."""
IN_CALL: Final = "a tool call may not change nanocoder's configuration; run this yourself"


def command_of(words: Sequence[str]) -> "partial[int]":
    """Return the command that *words* name, ready to be called; raises UsageError."""
    words = _without_habit(words)
    named = {word for word in words if word in COMMANDS}
    is_foreign = bool(words) and words[0] not in COMMANDS and not words[0].startswith("-")
    if not is_foreign and not {*HELP} & {*words}:  # help lists the commands of plugins, too
        try:
            return _runnable(words, COMMANDS, named)
        except UsageError:
            pass  # the parser that knows every command says what is wrong
    host = Host(_directory(words))
    commands, problem = host.commands()
    if is_foreign and words[0] not in first_words(commands):
        if problem is not None:
            raise problem
        prompt = "" if any(word.startswith("-") for word in words) else " ".join(words)
        _refuse_missing(host, words[0])
        raise _no_command(words[0], first_words(commands), prompt)
    _refuse_wrong_option(words, commands)
    try:
        return _runnable(words, commands)
    except UnknownCommandError as error:
        _refuse_missing(host, f"{error.group} {error.name}".lstrip())
        if error.group:
            raise
        raise _no_command(error.name, error.choices) from None


def _runnable(
    words: Sequence[str], commands: Commands, named: Collection[str] | None = None
) -> "partial[int]":
    """Parse *words* and return what runs the command; raises UsageError."""
    values, rest = build(commands, named).parse_known_args(list(words))
    name = " ".join(filter(None, (values.command, getattr(values, "action", ""))))
    arguments = commands[name].arguments if name else BEFORE_A_COMMAND
    rest = _with_late_words(arguments, values, rest)
    if rest:
        _refuse_loose_words(values, rest)
        raise _unknown(next((word for word in rest if word.startswith("-")), rest[0]), arguments)
    _refuse_idle_options(name, arguments, values)
    return partial(_start, values, name or "chat")


def _start(values: Namespace, name: str) -> int:
    """Run a command with what was parsed for it; returns its exit code."""
    host = Host.of(values)
    command = COMMANDS.get(name)
    if command is None:
        offer = host.plugins.offered("commands", name)
        command = offer and offer[1]
    if command is None or command.run is None:
        why = host.plugins.why_missing(name, "commands")
        raise UsageError(f"the command {name!r} is gone: {why}")
    if command.outside_calls and os.environ.get(CALL):
        raise UsageError(IN_CALL)
    return int(command.run(values, host))


def _refuse_missing(host: Host, name: str) -> None:
    """Raise UsageError for a command of a plugin that is switched off or not installed."""
    from nanocoder.plugins.packages import package_with  # only mistakes need it

    try:
        why = host.plugins.why_missing(name, "commands")
    except NanocoderError:
        why = ""
    if why:
        raise UsageError(f"there is no command {name!r}: {why}")
    if package := package_with("commands", name):
        # What installs packages cannot be installed by itself.
        is_installer = package == package_with("commands", INSTALL)
        installer = "pip install" if is_installer else f"nanocoder {INSTALL}"
        raise UsageError(f"`nanocoder {name}` needs a package: {installer} {package}")


def _no_command(name: str, commands: Collection[str], prompt: str = "") -> UsageError:
    """Make the error for a word that is no command: a slip, or a prompt."""
    hint = did_you_mean(name, commands, ".")
    quoted = shlex.quote(prompt or name)
    return UsageError(
        f"there is no command {name!r}{hint} To give a prompt: nanocoder run {quoted};"
        f" to start a conversation with it: nanocoder chat {quoted};"
        " to see the commands: nanocoder --help"
    )


def _without_habit(words: Sequence[str]) -> list[str]:
    """Return *words* with the command run in place of the `-p` that other agents have."""
    before = list(takewhile(lambda word: word not in {*HABITS, *COMMANDS}, words))
    habit, *rest = words[len(before) :] or [""]
    return ["run", *before, *rest] if habit in HABITS else list(words)


def _directory(words: Sequence[str]) -> str:
    """Return the value of `--cwd`, before the words are parsed."""
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--cwd":
            return value if equals else next(iter(words[place + 1 :]), ".")
    return "."


def _with_late_words(
    arguments: Sequence[Argument], values: Namespace, rest: Sequence[str]
) -> list[str]:
    """Give words after options to arguments that may be missing; returns what is left.

    argparse takes such an argument for missing when an option comes first.
    """
    late = [word for word in rest if not word.startswith("-")]
    for argument in arguments:
        name = argument.names[0]
        if name.startswith("-") or argument.count not in {"?", "*"} or len(late) < len(rest):
            continue
        if argument.count == "*":
            setattr(values, name, [*getattr(values, name), *late])
            late = rest = []
        elif late and getattr(values, name) == argument.default:
            setattr(values, name, late[0])
            late = rest = late[1:]
    return list(rest)


def _refuse_idle_options(command: str, arguments: Sequence[Argument], values: Namespace) -> None:
    """Raise UsageError for an option before a command that would do nothing with it."""
    targets = {target_of(argument) for argument in arguments}
    for name in ("model", "mode", "resume"):
        if name not in targets and getattr(values, name, None):
            option = "--continue" if name == "resume" else f"--{name}"
            raise UsageError(f"{option} does not apply to `nanocoder {command}`")


def _refuse_wrong_option(words: Sequence[str], commands: Commands) -> None:
    """Raise UsageError for a misspelt option before the command, whose value is taken for one."""
    options = options_of(BEFORE_A_COMMAND)
    for word in takewhile(lambda word: word not in first_words(commands), words):
        name = word.split("=")[0]
        if word.startswith("--") and name not in options:
            raise _unknown(word, BEFORE_A_COMMAND)


def _unknown(word: str, arguments: Sequence[Argument]) -> UsageError:
    hint = did_you_mean(word.split("=", maxsplit=1)[0], options_of(arguments), limit=3)
    return UsageError(f"unknown argument {word!r}{hint}")


def _refuse_loose_words(values: Namespace, rest: Sequence[str]) -> None:
    """Raise UsageError where a prompt came in several words."""
    if values.command == "run" and not any(word.startswith("-") for word in rest):
        prompt = shlex.quote(" ".join([values.prompt, *rest]))
        raise UsageError(f"the prompt is one argument; quote it: nanocoder run {prompt}")
