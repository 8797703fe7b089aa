"""The commands `call` and `policy explain`: one tool call by hand, made or only judged."""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final

from nanocoder import Argument, Command, Host, Mode, hookimpl

CALL: Final = (
    Argument("tool", "the tool's name", completes="tools"),
    Argument("arguments", "its arguments as JSON", count="?", default="{}"),
    Argument("--model", "the model, as provider/model", metavar="P/M", completes="models"),
    Argument("--mode", "how much nanocoder may do without asking", choices=map(str, Mode)),
    Argument("--profile", "also apply the configuration profiles/NAME.toml", metavar="NAME"),
    Argument("--cwd", "the workspace (default: this directory)", metavar="DIR"),
)
EPHEMERAL: Final = Argument(
    "--ephemeral",
    "keep nothing of this session",
    kind="flag",
    constant="memory",
    target="store",
)
AGENT: Final = Argument("--agent", "as a sub-agent with this profile", metavar="NAME", default="")
OUTPUT: Final = Argument("--output", "output format", default="text", choices=("text", "json"))


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer `call`, `policy explain`, and the help of the group."""
    return [
        Command(
            "call",
            "call one tool, checked as for the model",
            _lazy("calling"),
            (*CALL, EPHEMERAL, OUTPUT),
        ),
        Command("policy", "show whether a tool call would be allowed, and why"),
        Command(
            "policy explain",
            "show the verdict on a call and its rule",
            _lazy("explaining"),
            (*CALL, AGENT, OUTPUT),
        ),
    ]


def _lazy(module: str) -> Callable[[Namespace, Host], int]:
    """Return a command's function; its module is imported when somebody types the command."""
    return partial(_run, module)


def _run(module: str, arguments: Namespace, host: Host) -> int:
    return int(import_module(f"{__name__}.{module}").run(arguments, host))
