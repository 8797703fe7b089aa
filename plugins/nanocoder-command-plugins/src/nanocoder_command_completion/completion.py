"""The script of a shell; it asks nanocoder for names while a person types."""

import sys
from argparse import Action, Namespace
from typing import Any, Final

import shtab
from nanocoder import Argument, Host

LISTS: Final = {
    "sessions": "nanocoder sessions list 2>/dev/null | awk 'NR>1 {print $1}'",
    "models": "nanocoder models 2>/dev/null | awk 'NR>1 && $2 ~ /\\// {print $2}'",
    "plugins": "nanocoder plugins list 2>/dev/null | awk 'NR>1 {print $1}'",
    "tools": "nanocoder tools 2>/dev/null | awk 'NR>1 {print $1}'",
}
"""The commands that list names, by kind of argument; all of them run offline."""


def run(arguments: Namespace, host: Host) -> int:
    """Print the script, for evaluation or for the shell's completion directory."""
    preamble = _preamble().get(arguments.shell, "")
    script = shtab.complete(host.parser(_complete), shell=arguments.shell, preamble=preamble)
    sys.stdout.write(script + "\n")
    return 0


def _complete(action: Action, argument: Argument) -> None:
    """Let shtab complete an argument with names of ours."""
    if argument.completes:
        function = f"_nanocoder_{argument.completes}"
        marked: Any = action
        marked.complete = {"bash": function, "zsh": function, "fish": f"({function})"}


def _preamble() -> dict[str, str]:
    bash = "\n".join(
        f'_nanocoder_{name}() {{ compgen -W "$({command})" -- "$1"; }}'
        for name, command in LISTS.items()
    )
    zsh = "\n".join(
        f'_nanocoder_{name}() {{ local -a names; names=(${{(f)"$({command})"}});'
        " compadd -a names; }"
        for name, command in LISTS.items()
    )
    fish = "\n".join(
        f"function _nanocoder_{name}; {command}; end" for name, command in LISTS.items()
    )
    return {"bash": bash, "zsh": zsh, "fish": fish}
