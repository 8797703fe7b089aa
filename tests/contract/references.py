"""The generated sections of reference pages: the command line from its parser, the core's settings.

Each section stands between two comments of its page; what is around it is written by hand.
"""

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import repository
from attrs import frozen
from nanocoder import Argument, Command
from nanocoder.cli.commands import BEFORE_A_COMMAND, COMMANDS
from nanocoder.config import TABLES, CoreSettings
from nanocoder_config import keys_of, variable_of

FOLDER = repository.ROOT / "docs/reference"
SHARED_BY = 8
"""An option that so many commands have with the same words is described once."""
TYPES: Mapping[Any, str] = {
    bool: "true or false",
    dict[str, str]: "table of texts",
    dict[str, float]: "table of numbers",
    float: "number",
    int: "whole number",
    str: "text",
    tuple[str, ...]: "list of texts",
}
TIGHTEN: Mapping[str | None, str] = {
    None: "no",
    "min": "lower it",
    "order": "towards {}",
    "true": "switch it on",
    "union": "add to it",
}


@frozen
class Section:
    """One generated part of a page: everything between its two marks."""

    page: Path
    name: str
    text: str

    @property
    def marks(self) -> tuple[str, str]:
        """The comments before and after it."""
        return (
            f"<!-- {self.name}: written by `nox -s reference` -->",
            f"<!-- end of {self.name} -->",
        )

    def placed(self) -> str:
        """Return the page's text with this section brought up to date; raises LookupError."""
        start, end = self.marks
        text = self.page.read_text(encoding="utf-8")
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise LookupError(f"{self.page} has no lines {start} and {end}")
        return f"{before}{start}\n\n{self.text}\n{end}{after}"


def sections() -> list[Section]:
    """Return every generated section as it has to be."""
    return [
        Section(FOLDER / "command-line.md", "commands", "\n".join(_command_lines())),
        Section(FOLDER / "configuration.md", "settings", "\n".join(_setting_lines())),
    ]


def commands() -> dict[str, Command[Any]]:
    """Return every command of the core and of our plugins by its name."""
    offers: list[Command[Any]] = []
    for name in repository.entry_points().values():
        module = importlib.import_module(name)
        offers += getattr(module, "nanocoder_commands", list)()
    return {**{command.name: command for command in offers}, **COMMANDS}


def _command_lines() -> Iterator[str]:
    every = commands()
    ordered = [*COMMANDS, *(name for name in every if name not in COMMANDS)]
    leaves = [name for name in ordered if not any(other.startswith(f"{name} ") for other in every)]
    options = [one for name in leaves for one in every[name].arguments if one.names[0][0] == "-"]
    counts = Counter(map(_row, options))
    often = [one for one in options if counts[_row(one)] >= SHARED_BY]
    # An option with a second meaning elsewhere is explained there.
    by_name = {one.names[-1]: _row(one) for one in [*often[::-1], *BEFORE_A_COMMAND]}
    shared = list(dict.fromkeys(by_name[one.names[-1]] for one in [*BEFORE_A_COMMAND, *often]))
    yield "### Shared options\n"
    yield "The line below a heading names those of a command behind *Also*.\n"
    yield from _list(shared)
    for name in leaves:
        yield from _described(name, every[name], shared)


def _described(name: str, command: Command[Any], shared: Sequence[str]) -> Iterator[str]:
    arguments, text = command.arguments, command.help
    places = [_place(one) for one in arguments if not one.names[0].startswith("-")]
    yield f"### `{' '.join([name, *places])}`\n"
    common = [one for one in arguments if _row(one) in shared]
    named = ", ".join(f"`{one.names[-1]}`" for one in common)
    also = f" Also: {named}." if common else ""
    yield f"{text[0].upper()}{text[1:]}.{also}\n"
    yield from _list([_row(one) for one in arguments if one not in common])


def _list(rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield from (*rows, "")


def _place(argument: Argument) -> str:
    name = (argument.metavar or argument.names[0]).upper()
    several = f"[{name}…]"
    patterns = {"+": f"{name}…", "*": several, "...": several, "?": f"[{name}]", "": name}
    return patterns[argument.count]


def _row(argument: Argument) -> str:
    value = argument.metavar.upper()
    names = argument.names
    if not names[0].startswith("-"):
        names = ((argument.metavar or names[0]).upper(),)
    elif argument.kind == "switch":
        names = (*names, *(f"--no-{name.removeprefix('--')}" for name in names))
    spelled = ", ".join(
        f"`{name} {value}`" if value and name[0] == "-" else f"`{name}`" for name in names
    )
    choices = ", ".join(f"`{choice}`" for choice in argument.choices)
    default = f"default `{argument.default}`" if argument.default not in (None, "", ".") else ""
    return f"- {spelled}: {'; '.join(filter(None, (argument.help, choices, default)))}"


def _setting_lines() -> Iterator[str]:
    for path, cls in TABLES.items():
        yield f"### {'Top-level keys' if not path else '`[' + '.'.join(path) + ']`'}\n"
        yield "| key | type | default | what it does | an untrusted project may | variable |"
        yield "|---|---|---|---|---|---|"
        for key, attribute in keys_of(cls).items():
            variable = f"`{variable_of(key)}`" if cls is CoreSettings else ""
            yield _setting_row(key, attribute, variable)
        yield ""


def _setting_row(key: str, attribute: Any, variable: str) -> str:
    about = attribute.metadata
    kind = ", ".join(f"`{one}`" for one in about.get("choices", ())) or TYPES[attribute.type]
    may = "never, trusted or not" if about.get("user_only") else TIGHTEN[about.get("tighten")]
    may = may.format(*about.get("choices") or ())
    cells = (f"`{key}`", kind, f"`{_toml(attribute.default)}`", about["description"], may, variable)
    return f"| {' | '.join(cells)} |"


def _toml(default: Any) -> str:
    value = default.factory() if hasattr(default, "factory") else default
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)
