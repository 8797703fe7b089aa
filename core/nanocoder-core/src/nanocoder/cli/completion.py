"""`nanocoder completion SHELL`: a completion script; names are asked for while one types."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final

from nanocoder.errors import UsageError

LISTS: Final = {
    "sessions": "nanocoder sessions list 2>/dev/null | awk 'NR>1 {print $1}'",
    "models": "nanocoder models 2>/dev/null | awk 'NR>1 && $2 ~ /\\// {print $2}'",
    "plugins": "nanocoder plugins list 2>/dev/null | awk 'NR>1 {print $1}'",
    "tools": "nanocoder tools 2>/dev/null | awk 'NR>1 {print $1}'",
}
"""The commands that list what can be named; none of them leaves this machine."""

VALUES: Final = {
    "id": "sessions",
    "resume": "sessions",
    "model": "models",
    "names": "plugins",
    "tool": "tools",
}
"""Which list an argument's values are in, by the argument's destination."""


def run(arguments: argparse.Namespace) -> int:
    """Print the script; evaluate it, or save it where the shell looks."""
    try:
        import shtab
    except ImportError as error:
        raise UsageError(
            "completion needs the package shtab beside nanocoder: pip install shtab"
        ) from error
    from nanocoder.cli.parser import build

    parser = build()
    for action in _actions(parser):
        if action.dest in VALUES and action.nargs != 0:
            action.complete = _functions(VALUES[action.dest])
    script = shtab.complete(
        parser, shell=arguments.shell, preamble=_preamble().get(arguments.shell, "")
    )
    sys.stdout.write(script + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """Yield every argument of *parser* and of its commands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for one in action.choices.values():
                yield from _actions(one)
        else:
            yield action


def _functions(name: str) -> dict[str, str]:
    function = f"_nanocoder_{name}"
    return {"bash": function, "zsh": function, "fish": f"({function})"}


def _preamble() -> dict[str, str]:
    bash = "\n".join(
        f'_nanocoder_{name}() {{ compgen -W "$({command})" -- "$1"; }}'
        for name, command in LISTS.items()
    )
    zsh = "\n".join(
        f'_nanocoder_{name}() {{ local -a found; found=(${{(f)"$({command})"}});'
        " compadd -a found; }"
        for name, command in LISTS.items()
    )
    fish = "\n".join(
        f"function _nanocoder_{name}; {command}; end" for name, command in LISTS.items()
    )
    return {"bash": bash, "zsh": zsh, "fish": fish}
