"""From the words of the command line to a command, without importing a plugin."""

import os
import shlex
from argparse import REMAINDER, HelpFormatter, Namespace
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from nanocoder_console import (
    HELP,
    SILENT,
    Argument,
    Command,
    Commands,
    Parser,
    actions_of,
    first_words,
    options_of,
    target_of,
)
from nanocoder_schema import NanocoderError, UsageError, did_you_mean, nearest

from nanocoder.cli.commands import BEFORE_A_COMMAND, COMMANDS, DEFAULTS, DIRECTORY, SHORT, build
from nanocoder.cli.host import Host

HABITS: Final = ("-p", "--print", "--prompt")
"""Options that other agents have in place of `run`."""
# Other programs' names of an action or an option, and ours.
OTHER_NAMES: Final = {"get": "where", "add": "install", "-m": "--model", "--json": "--output"}
OTHER_NAMES.update(dict.fromkeys(("--yes", "--yolo"), "--mode"))
HABIT: Final = {"init": "; to write a first AGENTS.md: nanocoder chat /init."}
# The first word of a prompt often resembles some action: only a clear typo counts as one.
SLIP: Final = 0.75
IDLE: Final = {"model": "--model", "mode": "--mode", "resume": "--continue", "store": "--ephemeral"}
"""Options that a command without sessions would ignore, by what they set."""
CALL: Final = "NANOCODER_CALL"
"""Set in the environment of every process that a tool starts."""
IN_CALL: Final = "a tool call may not configure nanocoder; run this yourself in a terminal"


def command_of(words: Sequence[str]) -> "partial[int]":
    """Return the command that *words* name, ready to be called; raises UsageError."""
    front = Parser("nanocoder", BEFORE_A_COMMAND, add_help=False, formatter_class=SILENT)
    front.add_argument("words", nargs=REMAINDER)
    front.set_defaults(**DEFAULTS, command="chat")
    values, rest = front.parse_known_args(_replace_foreign_option(words))
    named = vars(values).pop("words")
    if {*HELP} & {*rest}:
        build(_host(words).commands()[0]).parse_args(["--help"])
    if rest:
        raise _unknown(rest[0], BEFORE_A_COMMAND)
    if named:
        command = _match(named, COMMANDS)
        if command is None or command.run is None:
            command = _match_of_plugins(named, _host(words))
        values.command = command.name
        _read(values, command, named[len(command.name.split()) :])
        return partial(_start, values, command)
    return partial(_start, values, COMMANDS[values.command])


def _host(words: Sequence[str]) -> Host:
    """Return the host of the directory that `--cwd` names, at any position in *words*."""
    parser = Parser("nanocoder", (DIRECTORY,), add_help=False)
    return Host(parser.parse_known_args(words)[0].cwd or ".")


def _match(named: Sequence[str], commands: Commands) -> Command[Any] | None:
    """Return the command named by the first two of the words *named*, or by the first."""
    pairs = ((named[:count], commands.get(" ".join(named[:count]))) for count in (2, 1))
    return next(
        (command for words, command in pairs if command and command.name.split() == words), None
    )


def _match_of_plugins(named: Sequence[str], host: Host) -> Command[Any]:
    """Return a plugin's command; raises UsageError if there is none."""
    commands, problem = host.commands()
    command = _match(named, commands)
    group, action = [*named, ""][:2]
    actions = actions_of(group, commands)
    # A group that has options of its own does something without an action.
    is_alone = action[:1] in {"", "-"} and action not in HELP
    if command and (" " in command.name or not actions or (is_alone and command.arguments)):
        return command
    if action in HELP:
        build(commands).parse_args([group, "--help"])
    if problem is not None:
        raise problem
    _refuse_missing_plugin(host, f"{group} {action}" if actions else group)
    if actions:
        hint = did_you_mean(OTHER_NAMES.get(action, action), actions, ".")
        what = f"there is no action {action!r}{hint} Actions" if action else "name an action"
        raise UsageError(f"{what}: {', '.join(actions)}; see `nanocoder {group} --help`")
    prompt = group if any(word.startswith("-") for word in named) else " ".join(named)
    raise _no_command(group, commands, shlex.quote(prompt))


def _read(values: Namespace, command: Command[Any], words: Sequence[str]) -> None:
    """Parse the arguments of *command* into *values*; raises UsageError.

    Options before the command count unless *words* override them.
    """
    form = SILENT if {*HELP}.isdisjoint(words) else HelpFormatter
    name, text = f"nanocoder {command.name}", command.help
    # argparse is slow to build the usage text, which only help shows.
    usage = "" if form is SILENT else None
    parser = Parser(name, command.arguments, description=text, formatter_class=form, usage=usage)
    # Words and options may be mixed, unless the rest of the line is one argument: argparse refuses
    # both together. It would also parse options behind "--" (up to 3.12), and narrow the help.
    takes_rest = any(argument.count == "..." for argument in command.arguments)
    is_plain = takes_rest or not {"--", *HELP}.isdisjoint(words)
    parse = parser.parse_known_args if is_plain else parser.parse_known_intermixed_args
    _, rest = parse(words, values)
    if rest:
        if values.command == "run" and not any(word.startswith("-") for word in rest):
            prompt = shlex.quote(" ".join([values.prompt, *rest]))
            raise UsageError(f"the prompt is one argument; quote it: nanocoder run {prompt}")
        unknown = next((word for word in rest if word.startswith("-")), rest[0])
        raise _unknown(unknown, command.arguments)
    targets = {target_of(argument) for argument in command.arguments}
    for target, option in IDLE.items():
        if target not in targets and getattr(values, target):
            raise UsageError(f"{option} does not apply to `nanocoder {command.name}`")


def _start(values: Namespace, command: Command[Any]) -> int:
    """Run a command with its parsed arguments and return its exit code.

    A plugin's command is loaded now; if that fails, the core's short form runs if there is one.
    """
    host, name, offer = Host.of(values), command.name, None
    if command.run is None or name in SHORT:
        try:
            offer = host.plugins.offered("commands", name)
        except NanocoderError:
            if command.run is None:  # there is no short form to run
                raise
    command = offer[1] if offer else command
    if command.run is None:
        why = host.plugins.why_missing(name, "commands")
        raise UsageError(f"the command {name!r} is gone: {why}")
    if command.outside_calls and os.environ.get(CALL):
        raise UsageError(IN_CALL)
    return int(command.run(values, host))


def _refuse_missing_plugin(host: Host, name: str) -> None:
    """Raise UsageError for a command of a plugin that is disabled or not installed."""
    from nanocoder.plugins.packages import way_to_install  # only mistakes need it

    if why := host.plugins.why_missing(name, "commands"):
        raise UsageError(f"there is no command {name!r}: {why}")
    if name not in COMMANDS and (way := way_to_install("commands", name)):
        raise UsageError(f"`nanocoder {name}` needs a package: {way}")


def _no_command(name: str, commands: Commands, quoted: str) -> UsageError:
    """Return the error for an unknown command: a typo, or a prompt, *quoted* for a shell."""
    names = [*commands, *options_of(BEFORE_A_COMMAND)]
    ends = [each.split()[-1].removeprefix("--") for each in names]
    alike = [each for each in first_words(commands) if each[0] == name[:1]]
    # An action without its group, or an option without its dashes, is surely meant.
    hint = "" if name in ends and f"{name}s" not in alike else did_you_mean(name, alike)
    similar = "".join(nearest(name, [*ends, *HABIT], limit=1, cutoff=SLIP))
    own = [each for each, end in zip(names, ends, strict=True) if end == similar]
    hint = hint or did_you_mean(similar, own, HABIT.get(similar, "."), limit=3, cutoff=0.0)
    return UsageError(
        f"there is no command {name!r}{hint} To give a prompt: nanocoder run {quoted};"
        f" to start a conversation with it: nanocoder chat {quoted};"
        " to see the commands: nanocoder --help"
    )


def _replace_foreign_option(words: Sequence[str]) -> list[str]:
    """Return *words* with the command `run` in place of the `-p` of other agents."""
    before = list(takewhile(lambda word: word not in {*HABITS, *COMMANDS}, words))
    habit, *rest = words[len(before) :] or [""]
    return ["run", *before, *rest] if habit in HABITS else list(words)


def _unknown(word: str, arguments: Sequence[Argument]) -> UsageError:
    name = word.split("=", maxsplit=1)[0]
    near = OTHER_NAMES.get(name, name)
    hint = did_you_mean(near, options_of(arguments), limit=3 if near == name else 1)
    if name in {*options_of(BEFORE_A_COMMAND)} - {*IDLE.values(), *options_of(arguments)}:
        hint = f"; {name} stands before the command: nanocoder {name} …"
    return UsageError(f"unknown argument {word!r}{hint}")
