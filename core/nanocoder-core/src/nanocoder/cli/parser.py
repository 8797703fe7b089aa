"""From the words of the command line to a command, without importing a plugin."""

import argparse
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib import import_module
from itertools import takewhile
from typing import Any, Final

from nanocoder_schema import did_you_mean

from nanocoder.cli.arguments import (
    COMMANDS,
    Parser,
    no_command,
    resume_options,
    session_options,
)
from nanocoder.errors import UsageError

DESCRIPTION: Final = "A coding agent for the terminal in which every capability is a plugin."
EPILOG: Final = """Without a command, starts an interactive session here.
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 approval needed and nobody to ask,
4 model unavailable, 5 turn or budget limit, 6 denied by policy (call), 130 interrupted."""

HABITS: Final = ("-p", "--print", "--prompt")
"""How other agents spell `run`."""
TAKES: Final = {
    "model": {"chat", "run", "call", "policy", "sessions resume"},
    "mode": {"chat", "run", "call", "policy", "sessions resume"},
    "resume": {"chat", "run"},
}
"""Which commands use an option that may stand before any command."""


def command_of(words: Sequence[str]) -> Callable[[], int]:
    """Return the command that *words* name, ready to be called; raises UsageError."""
    words = _without_habit(words)
    first = next((word for word in words if not word.startswith("-")), None)
    if first is not None and words[0] == first and first not in COMMANDS:
        return _plugin_command(first, words[1:])
    named = [word for word in words if word in COMMANDS]
    try:
        parser = build(named)
        arguments, rest = parser.parse_known_args(list(words))
    except UsageError:
        # What is wrong is said by the parser that knows everything.
        parser = build()
        _refuse_wrong_option(parser, words)
        arguments, rest = parser.parse_known_args(list(words))
    rest = _with_late_words(parser, arguments, rest)
    if rest:
        _refuse_loose_words(arguments, rest)
        wrong = next((word for word in rest if word.startswith("-")), rest[0])
        raise _unknown(wrong, _options(_leaf(parser, arguments)))
    _refuse_idle_options(arguments)
    module = import_module(f"nanocoder.cli.{arguments.command or 'chat'}")
    return partial(module.run, arguments)


def _without_habit(words: Sequence[str]) -> Sequence[str]:
    """Return *words* with the command run in place of the `-p` that other agents have."""
    before = list(takewhile(lambda word: word not in {*HABITS, *COMMANDS}, words))
    habit, *rest = words[len(before) :] or [""]
    return ["run", *before, *rest] if habit in HABITS else words


def _with_late_words(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, rest: Sequence[str]
) -> list[str]:
    """Give words after options to arguments that may be missing; returns what nobody takes.

    argparse takes such an argument for missing when an option comes first.
    """
    leaf = _leaf(parser, arguments)
    late = [word for word in rest if not word.startswith("-")]
    for action in leaf._actions:  # noqa: SLF001 - argparse has no public way to list arguments
        if action.option_strings or action.nargs not in {"?", "*"} or len(late) < len(rest):
            continue
        if action.nargs == "*":
            setattr(arguments, action.dest, [*getattr(arguments, action.dest), *late])
            late = rest = []
        elif late and getattr(arguments, action.dest) == action.default:
            setattr(arguments, action.dest, late[0])
            late = rest = late[1:]
    return list(rest)


def _leaf(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Any:
    """Return the parser of the command, and of its action if it has some."""
    leaf: Any = parser
    for name in (arguments.command, getattr(arguments, "action", None)):
        for action in leaf._actions:  # noqa: SLF001 - as above
            if not action.option_strings and name in (action.choices or ()):
                leaf = dict(action.choices)[name]
                break
    return leaf


def _refuse_idle_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError for an option before a command that would do nothing with it."""
    action = getattr(arguments, "action", "")
    command = arguments.command or "chat"
    for name, commands in TAKES.items():
        if getattr(arguments, name, None) and not commands & {command, f"{command} {action}"}:
            option = "--continue" if name == "resume" else f"--{name}"
            named = f"nanocoder {command} {action}".rstrip()
            raise UsageError(f"{option} does not apply to `{named}`")


def _unknown(wrong: str, options: Sequence[str]) -> UsageError:
    hint = did_you_mean(wrong.split("=", maxsplit=1)[0], options, limit=3)
    return UsageError(f"unknown argument {wrong!r}{hint}")


def _refuse_wrong_option(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Raise UsageError for a misspelt option before the command, whose value is taken for one."""
    options = _options(parser)
    for word in takewhile(lambda word: word not in COMMANDS, words):
        name = word.split("=")[0]
        if word.startswith("--") and not any(one.startswith(name) for one in options):
            raise _unknown(word, options)


def _refuse_loose_words(arguments: argparse.Namespace, rest: Sequence[str]) -> None:
    """Raise UsageError where a prompt came in several words."""
    if arguments.command == "run" and not any(word.startswith("-") for word in rest):
        import shlex  # only mistakes need it

        prompt = shlex.quote(" ".join([arguments.prompt, *rest]))
        raise UsageError(f"the prompt is one argument; quote it: nanocoder run {prompt}")


def build(named: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Return the whole parser, or one that knows the commands that *named* holds.

    Making all of them is a good part of a start; where none is named, their names are enough.
    """
    parser = Parser(
        "nanocoder",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    session_options(parser, inherited=False)
    resume_options(parser, inherited=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, (text, add) in COMMANDS.items():
        if named is None or name in named:
            add(commands.add_parser(name, help=text, description=text))
        elif not named:
            commands.add_parser(name, help=text)
    return parser


def _options(parser: Any) -> list[str]:
    return list(parser._option_string_actions)  # noqa: SLF001 - as above


def _plugin_command(name: str, words: Sequence[str]) -> Callable[[], int]:
    """Return a plugin's command; raises UsageError with the nearest name when nobody offers it."""
    from nanocoder.cli.host import Host

    host = Host()
    found = host.plugins.offered("commands", name)
    if found is not None:
        command = found[1]
        return lambda: int(command.run(list(words), host))
    offered = [offer["name"] for _, offer in host.plugins.offers("commands")]
    is_prompt = not any(word.startswith("-") for word in words)
    prompt = " ".join([name, *words]) if is_prompt else name
    raise no_command(name, [*COMMANDS, *offered], prompt)
