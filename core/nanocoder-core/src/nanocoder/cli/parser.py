"""From the words of the command line to a command, without importing a plugin."""

import argparse
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import takewhile
from typing import Any, Final, NoReturn

from nanocoder_schema import did_you_mean

from nanocoder.cli.arguments import BEFORE_A_COMMAND, COMMANDS, VERSION
from nanocoder.cli.host import Note
from nanocoder.errors import UsageError
from nanocoder.hooks.contributions import Argument, Command

DESCRIPTION: Final = "A coding agent for the terminal in which every capability is a plugin."
EPILOG: Final = """Without a command, starts an interactive session here.
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 approval needed and nobody to ask,
4 model unavailable, 5 turn or budget limit, 6 denied by policy (call), 130 interrupted."""

HABITS: Final = ("-p", "--print", "--prompt")
"""How other agents spell `run`."""
HELP: Final = ("-h", "--help")
DEFAULTS: Final = {"model": "", "mode": None, "cwd": ".", "resume": ""}
"""Values of options that may stand before a command, where they are not given."""
TYPES: Final = {"integer": int, "number": float}
_CHOICE: Final = re.compile(r"^argument ([^:]*): invalid choice: '([^']*)' \(choose from (.*)\)$")
_NUMBER: Final = re.compile(r"^argument ([^:]*): invalid (int|float) value: (.*)$")

Commands = Mapping[str, Command[Any]]


class Parser(argparse.ArgumentParser):
    """Raises instead of leaving, and knows what was probably meant."""

    action_names: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        if (choice := _CHOICE.search(message)) is not None:
            name, value, choices = choice.groups()
            if name in {"COMMAND", "ACTION"}:
                refuse_missing(f"{self.prog} {value}".partition(" ")[2])
            if name == "COMMAND":
                raise no_command(value, re.findall(r"'([^']*)'", choices))
            hint = did_you_mean(value, re.findall(r"'([^']*)'", choices), ".")
            message = f"{name}: unknown value {value!r}{hint} Choose from {choices}"
        if (number := _NUMBER.search(message)) is not None:
            name, kind, value = number.groups()
            message = f"{name}: expected {'a whole' if kind == 'int' else 'a'} number, got {value}"
        if message.endswith("required: ACTION"):
            message = f"name an action: {', '.join(self.action_names)}"
        raise UsageError(f"{message}; see `{self.prog} --help`")


def refuse_missing(name: str) -> None:
    """Raise UsageError for a command of a plugin that is switched off or not installed."""
    from nanocoder.cli.offered import why_absent  # only mistakes need it
    from nanocoder.cli.packages import package_with

    if why := why_absent(name):
        raise UsageError(f"there is no command {name!r}: {why}")
    if package := package_with("commands", name):
        raise UsageError(f"`nanocoder {name}` needs a package: nanocoder plugins install {package}")


def no_command(name: str, commands: Collection[str], prompt: str = "") -> UsageError:
    """Make the error for a word that is no command: a slip, or a prompt."""
    import shlex  # only mistakes need it

    hint = did_you_mean(name, commands, ".")
    quoted = shlex.quote(prompt or name)
    return UsageError(
        f"there is no command {name!r}{hint} To give a prompt: nanocoder run {quoted};"
        f" to start a conversation with it: nanocoder chat {quoted};"
        " to see the commands: nanocoder --help"
    )


def command_of(words: Sequence[str]) -> Callable[[], int]:
    """Return the command that *words* name, ready to be called; raises UsageError."""
    words = _without_habit(words)
    named = {word for word in words if word in COMMANDS}
    is_foreign = bool(words) and words[0] not in COMMANDS and not words[0].startswith("-")
    if not is_foreign and not {*HELP} & {*words}:  # help lists the commands of plugins, too
        try:
            return _runnable(words, COMMANDS, named)
        except UsageError:
            pass  # the parser that knows every command says what is wrong
    from nanocoder.cli.offered import known_commands

    commands, problem = known_commands(_directory(words))
    if is_foreign and words[0] not in _first_words(commands):
        if problem is not None:
            raise problem
        prompt = "" if any(word.startswith("-") for word in words) else " ".join(words)
        refuse_missing(words[0])
        raise no_command(words[0], _first_words(commands), prompt)
    _refuse_wrong_option(words, commands)
    return _runnable(words, commands)


def _runnable(
    words: Sequence[str], commands: Commands, named: Collection[str] | None = None
) -> Callable[[], int]:
    """Parse *words* and return what runs the command; raises UsageError."""
    values, rest = build(commands, named).parse_known_args(list(words))
    name = " ".join(filter(None, (values.command, getattr(values, "action", ""))))
    arguments = commands[name].arguments if name else (VERSION, *BEFORE_A_COMMAND)
    rest = _with_late_words(arguments, values, rest)
    if rest:
        _refuse_loose_words(values, rest)
        word = next((word for word in rest if word.startswith("-")), rest[0])
        raise _unknown(word, arguments)
    _refuse_idle_options(name, arguments, values)
    if not name or name in COMMANDS:
        module = import_module(f"nanocoder.cli.{values.command or 'chat'}")
        return partial(module.run, values)
    from nanocoder.cli.offered import run_offered

    return partial(run_offered, values, name)


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
    arguments: Sequence[Argument], values: argparse.Namespace, rest: Sequence[str]
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


def _refuse_idle_options(
    command: str, arguments: Sequence[Argument], values: argparse.Namespace
) -> None:
    """Raise UsageError for an option before a command that would do nothing with it."""
    targets = {target_of(argument) for argument in arguments}
    for name in ("model", "mode", "resume"):
        if name not in targets and getattr(values, name, None):
            option = "--continue" if name == "resume" else f"--{name}"
            raise UsageError(f"{option} does not apply to `nanocoder {command}`")


def _unknown(word: str, arguments: Sequence[Argument]) -> UsageError:
    hint = did_you_mean(word.split("=", maxsplit=1)[0], _options(arguments), limit=3)
    return UsageError(f"unknown argument {word!r}{hint}")


def _options(arguments: Sequence[Argument]) -> list[str]:
    return [
        *HELP,
        *(name for argument in arguments for name in argument.names if name.startswith("-")),
    ]


def _refuse_wrong_option(words: Sequence[str], commands: Commands) -> None:
    """Raise UsageError for a misspelt option before the command, whose value is taken for one."""
    arguments = (VERSION, *BEFORE_A_COMMAND)
    for word in takewhile(lambda word: word not in _first_words(commands), words):
        name = word.split("=")[0]
        if word.startswith("--") and not any(it.startswith(name) for it in _options(arguments)):
            raise _unknown(word, arguments)


def _refuse_loose_words(values: argparse.Namespace, rest: Sequence[str]) -> None:
    """Raise UsageError where a prompt came in several words."""
    if values.command == "run" and not any(word.startswith("-") for word in rest):
        import shlex  # only mistakes need it

        prompt = shlex.quote(" ".join([values.prompt, *rest]))
        raise UsageError(f"the prompt is one argument; quote it: nanocoder run {prompt}")


def _first_words(commands: Collection[str]) -> list[str]:
    return list(dict.fromkeys(name.split()[0] for name in commands))


def build(
    commands: Commands = COMMANDS,
    named: Collection[str] | None = None,
    *,
    note: Note = lambda _action, _argument: None,
) -> Parser:
    """Return the parser of *commands*; those that *named* leaves out have no arguments.

    Making all of them is a good part of a start; where none is named, their names are enough.
    *note* gets each argument as the parser has it and as it was declared.
    """
    parser = Parser(
        "nanocoder",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add(parser, (VERSION, *BEFORE_A_COMMAND), note)
    parser.set_defaults(**DEFAULTS)
    places: Any = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name in _first_words(commands):
        actions = [command for command in commands.values() if command.name.startswith(f"{name} ")]
        text = _help(name, commands, actions)
        if named is not None and name not in named:
            if not named:
                places.add_parser(name, help=text)
            continue
        inner = places.add_parser(name, help=text, description=text)
        if actions:
            _add_actions(inner, actions, note)
        else:
            _add(inner, commands[name].arguments, note, inherited=True)
    return parser


def _help(name: str, commands: Commands, actions: Sequence[Command[Any]]) -> str:
    command = commands.get(name)
    listed = ", ".join(action.name.partition(" ")[2] for action in actions)
    return command.help if command is not None else listed


def _add_actions(parser: Parser, actions: Sequence[Command[Any]], note: Note) -> None:
    parser.action_names = [action.name.partition(" ")[2] for action in actions]
    places: Any = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=Parser
    )
    for name, action in zip(parser.action_names, actions, strict=True):
        _add(places.add_parser(name, help=action.help), action.arguments, note, inherited=True)


def _add(
    parser: Parser, arguments: Sequence[Argument], note: Note, *, inherited: bool = False
) -> None:
    """Add *arguments*; a default of an *inherited* one would hide a value before the command."""
    rivals: dict[str, Any] = {}
    for argument in arguments:
        place: Any = parser
        if argument.rival_group:
            if argument.rival_group not in rivals:
                rivals[argument.rival_group] = parser.add_mutually_exclusive_group()
            place = rivals[argument.rival_group]
        options = _options_of(argument)
        if inherited and target_of(argument) in DEFAULTS:
            options["default"] = argparse.SUPPRESS
        note(place.add_argument(*argument.names, **options), argument)


def target_of(argument: Argument) -> str:
    """Return the name under which the value of an argument is found."""
    long = [name for name in argument.names if name.startswith("--")] or [*argument.names]
    return argument.target or long[0].lstrip("-").replace("-", "_")


def _options_of(argument: Argument) -> dict[str, Any]:
    """Return what `add_argument` takes besides the names."""
    options: dict[str, Any] = {"help": argument.help}
    if argument.names[0].startswith("-"):
        options["dest"] = target_of(argument)
    if argument.kind == "switch":
        return {**options, "action": argparse.BooleanOptionalAction}
    if argument.kind == "flag" and not argument.constant:
        return {**options, "action": "store_true"}
    if argument.constant:
        options["const"] = argument.constant
    if argument.kind == "flag":
        return {**options, "action": "store_const"}
    options["metavar"] = argument.metavar or None
    if argument.count != "+":
        options["default"] = argument.default
    options |= {"choices": argument.choices} if argument.choices else {}
    options |= {"nargs": argument.count} if argument.count else {}
    return options | ({"type": TYPES[argument.kind]} if argument.kind in TYPES else {})
