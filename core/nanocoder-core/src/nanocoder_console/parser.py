"""An argparse parser from declared commands, with hints in errors and no abbreviated options."""

import re
from argparse import Action, ArgumentParser, BooleanOptionalAction, HelpFormatter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from nanocoder_schema import UsageError, did_you_mean

from nanocoder_console.declarations import Argument, Command

HELP: Final = ("-h", "--help")
TYPES: Final = {"integer": int, "number": float}
_CHOICE: Final = r"argument ([^:]*): invalid choice: '([^']*)' \(choose from (.*)\)$"
_NUMBER: Final = r"argument ([^:]*): invalid (int|float) value: (.*)$"
SILENT: Final = partial(HelpFormatter, width=80)
"""Avoids the lookup of the terminal's width, which argparse does for each argument."""

Commands = Mapping[str, Command[Any]]
"""Commands by their names."""
Note = Callable[[Action, Argument], object]
"""Called with each argument, as argparse's action and as declared."""


class Parser(ArgumentParser):
    """A parser that raises UsageError with a suggestion instead of exiting.

    It accepts no abbreviated option, whose meaning a later option could change.
    """

    def __init__(self, prog: str, arguments: Iterable[Argument] = (), **options: Any) -> None:
        super().__init__(prog, allow_abbrev=False, **options)
        self.add(arguments)

    def add(self, arguments: Iterable[Argument], note: Note = lambda *_: None) -> None:
        """Add *arguments*; *note* gets each as argparse's action and as declared."""
        rivals: dict[str, Any] = {"": self}
        for argument in arguments:
            if argument.rival_group not in rivals:
                rivals[argument.rival_group] = self.add_mutually_exclusive_group()
            place = rivals[argument.rival_group]
            note(place.add_argument(*argument.names, **_details(argument)), argument)

    def add_commands(self, commands: Commands, note: Note = lambda *_: None) -> None:
        """Add *commands*; those with the same first word become actions of one group."""
        places: Any = self.add_subparsers(metavar="COMMAND", parser_class=Parser)
        for name in first_words(commands):
            actions = actions_of(name, commands)
            text = commands[name].help if name in commands else ", ".join(actions)
            inner = places.add_parser(name, help=text, description=text)
            if not actions:
                inner.add(commands[name].arguments, note)
                continue
            inner_places = inner.add_subparsers(metavar="ACTION", parser_class=Parser)
            for action, command in actions.items():
                inner_places.add_parser(action, help=command.help).add(command.arguments, note)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        # The wording differs between Python versions: an unknown message is shown unchanged.
        if choice := re.match(_CHOICE, message):
            name, value, listed = choice.groups()
            hint = did_you_mean(value, re.findall(r"'([^']*)'", listed), ".")
            message = f"{name}: unknown value {value!r}{hint} Choose from {listed}"
        if number := re.match(_NUMBER, message):
            name, kind, value = number.groups()
            message = f"{name}: expected {'a whole' if kind == 'int' else 'a'} number, got {value}"
        raise UsageError(f"{message}; see `{self.prog} --help`")


def actions_of(group: str, commands: Commands) -> Commands:
    """Return the commands whose first word is *group*, by their second word."""
    beginning = f"{group} "
    return {
        name.removeprefix(beginning): command
        for name, command in commands.items()
        if name.startswith(beginning)
    }


def first_words(commands: Collection[str]) -> list[str]:
    """Return the names of single commands and of groups."""
    return list(dict.fromkeys(name.split()[0] for name in commands))


def options_of(arguments: Iterable[Argument]) -> list[str]:
    """Return the spellings of every option among *arguments*."""
    names = (name for argument in arguments for name in argument.names)
    return [*HELP, *(name for name in names if name.startswith("-"))]


def target_of(argument: Argument) -> str:
    """Return the attribute that holds the value of an argument."""
    long = [name for name in argument.names if name.startswith("--")] or [*argument.names]
    return argument.target or long[0].lstrip("-").replace("-", "_")


def _details(argument: Argument) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument` for *argument*."""
    details: dict[str, Any] = {"help": argument.help}
    if argument.names[0].startswith("-"):
        details["dest"] = target_of(argument)
    if argument.kind == "switch":
        return {**details, "action": BooleanOptionalAction}
    if argument.constant:
        details["const"] = argument.constant
    if argument.kind == "flag":
        return {**details, "action": "store_const" if argument.constant else "store_true"}
    name = argument.metavar or argument.names[0].lstrip("-")
    details["metavar"] = None if argument.choices else name.upper()
    if argument.count != "+":
        details["default"] = argument.default
    details |= {"choices": argument.choices} if argument.choices else {}
    details |= {"nargs": argument.count} if argument.count else {}
    return details | ({"type": TYPES[argument.kind]} if argument.kind in TYPES else {})
