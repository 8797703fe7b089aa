"""The core's commands and their arguments."""

from argparse import Namespace, RawDescriptionHelpFormatter
from functools import partial
from importlib import import_module
from typing import Any, Final

from nanocoder_console import Argument, Command, Commands, Note, Parser

MODES: Final = ("plan", "ask", "edits", "auto")

OUTPUT: Final = Argument("--output", "output format", default="text", choices=("text", "json"))
DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
SESSION: Final = (
    Argument("--model", "the model, as provider/model", metavar="P/M", completes="models"),
    Argument("--mode", "how much nanocoder may do without asking", choices=MODES),
    Argument("--profile", "also apply the configuration profiles/NAME.toml", metavar="NAME"),
    Argument("--cwd", "the workspace (default: this directory)", metavar="DIR"),
    Argument("--set", "use the plugins of one set only", metavar="NAME", target="plugin_set"),
    Argument("--plugin", "also use the plugin in this file", metavar="FILE", target="plugin_file"),
)
CALL: Final = (
    Argument("tool", "the tool's name", completes="tools"),
    Argument("arguments", "its arguments as JSON", count="?", default="{}"),
    *SESSION,
)
_rival: Final = partial(Argument, rival_group="resume")
_resuming: Final = partial(_rival, constant="last", target="resume")
EPHEMERAL: Final = _rival(
    "--ephemeral", "do not save this session", kind="flag", constant="memory", target="store"
)
RESUME: Final = (
    _resuming(("-c", "--continue"), "continue this directory's last session", kind="flag"),
    _resuming(
        ("--resume", "--session"),
        "continue a session (default: the last one here)",
        count="?",
        metavar="ID",
        completes="sessions",
    ),
    EPHEMERAL,
)
VERSION: Final = Argument(("-V", "--version"), "print the version", kind="flag")
BEFORE_A_COMMAND: Final = (VERSION, *SESSION, *RESUME)
"""These options may stand before a command, too."""


def _command(
    name: str, text: str, place: str, *arguments: Argument, outside_calls: bool = False
) -> Command[Any]:
    """Declare a command that the function at *place* runs: "module:function"."""
    return Command(name, text, partial(_run, place), arguments, outside_calls)


def _run(place: str, values: Namespace, host: Any) -> int:
    module, _, function = place.partition(":")
    return int(getattr(import_module(f"nanocoder.cli.{module}"), function)(values, host))


_ALL: Final[tuple[Command[Any], ...]] = (
    _command(
        "chat",
        "start a conversation; the same as no command",
        "run:chat",
        Argument("prompt", "the first prompt", count="*"),
        *SESSION,
        *RESUME,
    ),
    _command(
        "run",
        "work on one prompt and print the answer",
        "run:run",
        Argument("prompt", 'what to do; "-" reads it from standard input', count="?"),
        *SESSION,
        Argument("--output", "text, plain, json or jsonl", default="text", metavar="FORMAT"),
        Argument("--schema", "answer with JSON that fits this JSON Schema", metavar="S"),
        Argument("--max-turns", "stop after N turns", kind="integer", metavar="N"),
        Argument("--max-tokens", "stop after N tokens, in and out", kind="integer", metavar="N"),
        Argument("--max-seconds", "stop after S seconds", kind="number", metavar="S"),
        Argument("--max-cost", "stop after $N", kind="number", metavar="N", target="max_cost_usd"),
        *RESUME,
        Argument(
            "--stdin",
            "add standard input to the prompt, however long it takes; or never do"
            " (default: if it is a file, or a pipe that sends something within 3 seconds)",
            kind="switch",
        ),
        Argument("--dry-run", "show each change as a diff, and make none", kind="flag"),
        Argument("--dialect", "offer the tools in a dialect", metavar="D", default=""),
    ),
    _command(
        "call", "call one tool, checked as for the model", "run:call", *CALL, EPHEMERAL, OUTPUT
    ),
    _command(
        "tools",
        "list the tools with their risks and costs",
        "listings:tools",
        Argument("tool", "show this tool and its parameters", count="?", completes="tools"),
        OUTPUT,
        Argument("--dialect", "as this dialect offers them", metavar="D", default=""),
    ),
    Command("plugins", "list, install, create and check plugins"),
    _command(
        "plugins list",
        "every plugin and what it offers",
        "listings:plugins",
        Argument("names", "only these, in full", count="*", metavar="NAME", completes="plugins"),
        OUTPUT,
    ),
    _command(
        "plugins lock", "write the lock file of all plugins", "listings:lock", outside_calls=True
    ),
    _command(
        "plugins sync",
        "compare the installed plugins with the lock file, and install missing ones",
        "listings:sync",
        Argument("--yes", "install it without asking", kind="flag"),
        outside_calls=True,
    ),
    _command("doctor", "check this installation", "doctor:run", OUTPUT),
    Command("policy", "show whether a tool call would be allowed, and why"),
    _command(
        "policy explain",
        "show the verdict on a call and its rule",
        "run:explain",
        *CALL,
        Argument("--agent", "as a sub-agent with this profile", metavar="NAME", default=""),
        OUTPUT,
    ),
    Command("config", "show and change the configuration"),
    _command(
        "config show", "every setting with value and origin", "listings:settings", OUTPUT, DIRECTORY
    ),
)
COMMANDS: Final = {command.name: command for command in _ALL}
SHORT: Final = frozenset(("doctor", "config show", "policy explain"))
"""Commands of which the core has a short form, used if no working plugin has the full one.

Both take the same arguments.
"""

DESCRIPTION: Final = "A coding agent for the terminal in which every capability is a plugin."
EPILOG: Final = """Without a command, starts an interactive session here.
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 approval needed and no person to ask,
4 model unavailable, 5 turn or budget limit, 6 denied by policy (call), 130 interrupted."""

DEFAULTS: Final = {"model": "", "resume": "", "cwd": "."}
"""Defaults of the options that may stand before a command; an option not listed has None."""


def build(commands: Commands = COMMANDS, note: Note = lambda *_: None) -> Parser:
    """Return the parser of all *commands*, for their help and for shell completion."""
    form = RawDescriptionHelpFormatter
    parser = Parser("nanocoder", description=DESCRIPTION, epilog=EPILOG, formatter_class=form)
    parser.add(BEFORE_A_COMMAND, note)
    parser.add_commands(commands, note)
    return parser
