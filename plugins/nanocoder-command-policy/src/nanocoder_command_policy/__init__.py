"""The commands `policy …`: test, measure, compare and complete the rules for tool calls."""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

OUTPUT: Final = (
    Argument("--output", "output format", default="text", choices=("text", "json")),
    Argument("--json", "the same as --output json", kind="flag", constant="json", target="output"),
)
DIRECTORY: Final = Argument("--cwd", "the workspace (default: this directory)", metavar="DIR")
PROFILE: Final = Argument(
    "--profile", "also apply the configuration profiles/NAME.toml", metavar="NAME"
)
SETTINGS: Final = (PROFILE, *OUTPUT, DIRECTORY)
EXPLAIN: Final = (
    Argument("tool", "the tool's name", completes="tools"),
    Argument("arguments", "its arguments as JSON", count="?", default="{}"),
    Argument("--model", "the model, as provider/model", metavar="P/M", completes="models"),
    Argument(
        "--mode",
        "how much nanocoder may do without asking",
        choices=("plan", "ask", "edits", "auto"),
    ),
    PROFILE,
    DIRECTORY,
    Argument("--agent", "as a sub-agent with this profile", metavar="NAME", default=""),
    OUTPUT[0],
)


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the actions of the group."""
    return [
        Command(
            "policy explain", "show the verdict on a call and its rule", _lazy("explain"), EXPLAIN
        ),
        _command(
            "test",
            "judge the calls in a file and compare with the verdicts it expects",
            Argument("file", "a file of calls, TOML or YAML", metavar="FILE"),
        ),
        _command("coverage", "find tools without a rule, and rules that never decide"),
        _command(
            "diff",
            "show which verdicts and settings differ between two configuration files",
            Argument("old", "a configuration file", metavar="OLD"),
            Argument(
                "new", "the other one (default: the configuration here)", count="?", metavar="NEW"
            ),
        ),
        _command(
            "replay",
            "judge the calls of a session by the rules of today",
            Argument("id", "the session's ID", count="?", default="last", completes="sessions"),
        ),
        _command(
            "suggest",
            "propose rules for what you were asked most in this directory",
            Argument("--limit", "at most N rules (default: 10)", kind="integer", metavar="N"),
        ),
    ]


def _command(name: str, text: str, *arguments: Argument) -> Command[Host]:
    module = "expectations" if name == "test" else name
    return Command(f"policy {name}", text, _lazy(module), (*arguments, *SETTINGS))


def _lazy(module: str) -> Callable[[Namespace, Host], int]:
    """Return a command's function, which imports its module when it is called."""
    return partial(_run, module)


def _run(module: str, arguments: Namespace, host: Host) -> int:
    return int(import_module(f"{__name__}.{module}").run(arguments, host))
