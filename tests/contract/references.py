"""The generated sections of reference pages: the command line from its parser, the core's settings.

Each section stands between two comments of its page; what is around it is written by hand.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import repository
from attrs import frozen
from nanocoder.cli.parser import build
from nanocoder.config.config import TABLES, TABLES_BY_NAME
from nanocoder.config.settings import keys_of

FOLDER = repository.ROOT / "docs/reference"
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
    "mode": "towards plan",
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


def _command_lines() -> Iterator[str]:
    yield from _described(build(), "")
    for parser, text in _leaves(build()):
        yield from _described(parser, text)


def _leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield every command that can be typed, with its help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                inner = list(_leaves(command))
                yield from inner or [(command, helps[name])]


def _described(parser: argparse.ArgumentParser, text: str) -> Iterator[str]:
    shown = [
        action
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    ]
    places = [_place(action) for action in shown if not action.option_strings]
    yield f"### `{' '.join([parser.prog, *places])}`\n"
    if text:
        yield f"{text[0].upper()}{text[1:]}.\n"
    if shown:
        yield "| argument | what it is |"
        yield "|---|---|"
        yield from map(_row, shown)
        yield ""


def _place(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest).upper()
    if action.nargs == "+":
        return f"{name}…"
    if action.nargs == "*":
        return f"[{name}…]"
    return f"[{name}]" if action.nargs == "?" else name


def _row(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or "").upper()
    names = action.option_strings or [str(action.metavar or action.dest).upper()]
    spelled = ", ".join(
        f"`{name} {value}`" if value and name[0] == "-" else f"`{name}`" for name in names
    )
    parts = [action.help or "", _choices(action), _default(action)]
    return f"| {spelled} | {'; '.join(part for part in parts if part)} |"


def _choices(action: argparse.Action) -> str:
    return ", ".join(f"`{choice}`" for choice in action.choices or ())


def _default(action: argparse.Action) -> str:
    is_said = action.default in (None, "", False, ".", argparse.SUPPRESS) or action.nargs == 0
    return "" if is_said else f"default `{action.default}`"


def _setting_lines() -> Iterator[str]:
    for path, cls in {**TABLES, **TABLES_BY_NAME}.items():
        yield f"### {'Top-level keys' if not path else '`[' + '.'.join(path) + ']`'}\n"
        yield "| key | type | default | what it does | an untrusted project may | variable |"
        yield "|---|---|---|---|---|---|"
        for key, attribute in keys_of(cls).items():
            yield _setting_row(key, attribute)
        yield ""


def _setting_row(key: str, attribute: Any) -> str:
    about = attribute.metadata
    kind = ", ".join(f"`{one}`" for one in about.get("choices", ())) or TYPES[attribute.type]
    may = "never, trusted or not" if about.get("user_only") else TIGHTEN[about.get("tighten")]
    variable = f"`{about['env']}`" if "env" in about else ""
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
