"""The commands and their options, known without importing a plugin."""

import argparse
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib import import_module
from itertools import takewhile
from typing import Any, NoReturn

from nanocoder.errors import UsageError
from nanocoder.text import nearest

DESCRIPTION = "A coding agent for the terminal in which every capability is a plugin."
EPILOG = """Without a command, nanocoder talks in the current directory.
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 approval needed and nobody to ask,
4 model unavailable, 5 turn or budget limit, 6 denied by policy (call), 130 interrupted."""

MODES = ("plan", "ask", "edits", "auto")
_CHOICE = re.compile(r"^argument ([^:]*): invalid choice: '([^']*)' \(choose from (.*)\)$")
_NUMBER = re.compile(r"^argument ([^:]*): invalid (int|float) value: (.*)$")
Adder = Callable[[argparse.ArgumentParser], None]


class _Parser(argparse.ArgumentParser):
    """Raises instead of leaving, and knows what was probably meant."""

    def error(self, message: str) -> NoReturn:
        found = _CHOICE.search(message)
        if found is not None:
            name, given, choices = found.groups()
            close = nearest(given, re.findall(r"'([^']*)'", choices))
            message = (
                f"{name}: there is no {given!r}; "
                + (f"did you mean {close[0]!r}? There are: " if close else "there are: ")
                + choices
            )
        if (number := _NUMBER.search(message)) is not None:
            name, kind, given = number.groups()
            message = f"{name}: expected {'a whole' if kind == 'int' else 'a'} number, got {given}"
        if message.endswith("required: ACTION"):
            (actions,) = (one.choices for one in self._actions if one.metavar == "ACTION")
            message = f"say what to do: {', '.join(actions or ())}"
        raise UsageError(f"{message}; see `{self.prog} --help`")


def command_of(words: Sequence[str]) -> Callable[[], int]:
    """Return the command that *words* name, ready to be called; raises UsageError."""
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
    if rest:
        _refuse_loose_words(arguments, rest)
        wrong = next((word for word in rest if word.startswith("-")), rest[0])
        raise _unknown(wrong, _options(parser, arguments.command))
    module = import_module(f"nanocoder.cli.{arguments.command or 'chat'}")
    return partial(module.run, arguments)


def _unknown(wrong: str, options: Sequence[str]) -> UsageError:
    close = nearest(wrong.split("=", maxsplit=1)[0], options)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return UsageError(f"unknown argument {wrong!r}{hint}")


def _refuse_wrong_option(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Raise UsageError for a misspelt option before the command, whose value is taken for one."""
    options = _options(parser, None)
    for word in takewhile(lambda word: word not in COMMANDS, words):
        name = word.split("=")[0]
        if word.startswith("--") and not any(one.startswith(name) for one in options):
            raise _unknown(word, options)


def _refuse_loose_words(arguments: argparse.Namespace, rest: Sequence[str]) -> None:
    """Raise UsageError where a prompt came in several words."""
    if arguments.command == "run" and not any(word.startswith("-") for word in rest):
        prompt = _quoted(arguments.prompt, *rest)
        raise UsageError(f"the prompt is one argument; quote it: nanocoder run {prompt}")


def _quoted(*words: str) -> str:
    import shlex  # only mistakes need it

    return shlex.quote(" ".join(words))


def build(named: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Return the whole parser, or one that knows the commands that *named* holds.

    Making all of them is a good part of a start; where none is named, their names are enough.
    """
    parser = _Parser(
        "nanocoder",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    _session_options(parser, inherited=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, (text, add) in COMMANDS.items():
        if named is None or name in named:
            add(commands.add_parser(name, help=text, description=text))
        elif not named:
            commands.add_parser(name, help=text)
    return parser


def _options(parser: argparse.ArgumentParser, command: str | None) -> list[str]:
    chosen: Any = parser
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list options
        if not action.option_strings and command in (action.choices or ()):
            chosen = dict(action.choices or {})[command]
    return list(chosen._option_string_actions)  # noqa: SLF001 - as above


def _plugin_command(name: str, words: Sequence[str]) -> Callable[[], int]:
    """Return a plugin's command; raises UsageError with the nearest name when nobody offers it."""
    from nanocoder.cli.host import Host

    host = Host()
    found = host.plugins.offered("commands", name)
    if found is not None:
        command = found[1]
        return lambda: int(command.run(list(words), host))
    offered = [offer["name"] for _, offer in host.plugins.offers("commands")]
    close = nearest(name, [*COMMANDS, *offered])
    hint = f"; did you mean {close[0]!r}?" if close else "."
    loose = [word for word in words if not word.startswith("-")]
    prompt = _quoted(name, *(words if loose == list(words) else ()))
    raise UsageError(
        f"there is no command {name!r}{hint} To give a prompt: nanocoder run {prompt};"
        " to see the commands: nanocoder --help"
    )


def _session_options(parser: argparse.ArgumentParser, *, inherited: bool = True) -> None:
    """Add the options that may stand before a command, too.

    *inherited* ones have no default of their own: it would hide what stands before the command.
    """
    model, mode, cwd = (argparse.SUPPRESS,) * 3 if inherited else ("", None, ".")
    parser.add_argument(
        "--model", metavar="P/M", default=model, help="the model, as provider/model"
    )
    parser.add_argument(
        "--mode", choices=MODES, default=mode, help="how much may be done without asking"
    )
    parser.add_argument("--cwd", metavar="DIR", default=cwd, help="the workspace, default here")


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", help='what to do; "-" reads standard input')
    _session_options(parser)
    parser.add_argument("--output", default="text", metavar="FORM", help="text, json or jsonl")
    parser.add_argument("--max-turns", type=int, metavar="N", help="end after N turns")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        dest="resume",
        action="store_const",
        const="last",
        default="",
        help="go on with this directory's last session",
    )
    which.add_argument("--session", dest="resume", metavar="ID", help="go on with a session")
    parser.add_argument("--dialect", default="", metavar="D", help="offer the tools in a dialect")
    parser.add_argument("--set", default="", metavar="NAME", help="use the plugins of one set only")


def _call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", help="the tool's name")
    parser.add_argument("arguments", nargs="?", default="{}", help="its arguments as JSON")
    _session_options(parser)
    parser.add_argument("--output", default="text", choices=("text", "json"), help="the form")


def _with_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="text", choices=("text", "json"), help="the form")


def _of_directory(parser: argparse.ArgumentParser) -> None:
    text = "the directory, default here"
    parser.add_argument("--cwd", metavar="DIR", default=argparse.SUPPRESS, help=text)


def _tools(parser: argparse.ArgumentParser) -> None:
    _with_output(parser)
    parser.add_argument("--dialect", default="", metavar="D", help="as a dialect offers them")


def _plugins(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    _with_output(actions.add_parser("list", help="every plugin and what it offers"))
    for name, text in (("install", "install with pip"), ("remove", "uninstall with pip")):
        one = actions.add_parser(name, help=text)
        one.add_argument("names", nargs="+", metavar="NAME", help="as in tool-grep")
    new = actions.add_parser("new", help="make a plugin package whose tests pass at once")
    new.add_argument("kind", choices=("tool", "policy", "provider", "ui"), help="what it is")
    new.add_argument("name", help="its name after the kind, as in wordcount")
    new.add_argument("--into", default=".", metavar="DIR", help="where to put it")
    check = actions.add_parser("check", help="run the contract suite on a plugin")
    check.add_argument("name", nargs="?", default="", help="as in tool-grep; default all")
    actions.add_parser("lock", help="write down which plugins, versions and contents are trusted")
    actions.add_parser("sync", help="compare what is installed with the lock")


def _policy(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    explain = actions.add_parser("explain", help="the verdict on a call and the rule behind it")
    explain.add_argument("tool", help="the tool's name")
    explain.add_argument("arguments", nargs="?", default="{}", help="its arguments as JSON")
    explain.add_argument(
        "--agent", default="", metavar="NAME", help="as the sub-agent of this profile"
    )
    _session_options(explain)
    _with_output(explain)


def _sessions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    listing = actions.add_parser("list", help="all sessions, the latest first")
    _with_output(listing)
    listing.add_argument("--all", action="store_true", help="of every directory")
    for name, text in (("show", "the transcript of a session"), ("resume", "go on with a session")):
        one = actions.add_parser(name, help=text)
        one.add_argument("id", nargs="?", default="last", help="its id, or how that begins")
        if name == "show":
            _with_output(one)
    _session_changes(actions)
    for one in actions.choices.values():
        _of_directory(one)


def _session_changes(actions: Any) -> None:
    """Add what makes, changes or deletes something."""
    fork = actions.add_parser("fork", help="a new session with the messages of another")
    undo = actions.add_parser("undo", help="put back the files that a session changed")
    export = actions.add_parser("export", help="print a session, to keep it or pass it on")
    remove = actions.add_parser("remove", help="delete a session and what was kept with it")
    for one in (fork, undo, export):
        one.add_argument("id", nargs="?", default="last", help="its id, or how that begins")
    remove.add_argument("id", help="its id, or how that begins")
    _with_output(fork)
    which = undo.add_mutually_exclusive_group()
    which.add_argument("--call", default="", metavar="CALL", help="one call, not the last run")
    which.add_argument("--all", action="store_true", help="all that the session changed")
    which.add_argument("--redo", action="store_true", help="take the last undo back")
    for one in (undo, remove):
        one.add_argument("--yes", action="store_true", help="do it without asking")
    export.add_argument(
        "--output", default="markdown", choices=("markdown", "json"), help="the form"
    )


def _stats(parser: argparse.ArgumentParser) -> None:
    _with_output(parser)
    parser.add_argument("--tool", default="", metavar="NAME", help="of this tool only")
    parser.add_argument("--days", type=float, metavar="N", help="of the last N days, else of all")
    parser.add_argument(
        "--check", action="store_true", help="end with 1 when an objective is missed"
    )
    _of_directory(parser)


def _trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("call", metavar="CALL_ID", help='the id of a call, or "last"')
    parser.add_argument("--session", default="last", metavar="ID", help="where it was made")
    _with_output(parser)
    _of_directory(parser)


def _config(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    show = actions.add_parser("show", help="every value and where it comes from")
    where = actions.add_parser("where", help="where one value comes from")
    where.add_argument("key", help="a dotted key, as in plugins.strict")
    schema = actions.add_parser("schema", help="the JSON Schema of the whole configuration")
    for one in (show, where):
        _with_output(one)
    for one in (show, where, schema):
        _of_directory(one)
    for name, text in (
        ("trust", "let this folder's file count in full"),
        ("untrust", "take that back"),
    ):
        _of_directory(actions.add_parser(name, help=text))


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", default="", help="ask this provider for its models")
    _with_output(parser)


COMMANDS: dict[str, tuple[str, Adder]] = {
    "run": ("work on one prompt and print the answer", _run),
    "call": ("call one tool through the same path as the model", _call),
    "tools": ("the tools, their owners, risks and costs", _tools),
    "plugins": ("list, install, make and check plugins", _plugins),
    "doctor": ("say what is wrong with this installation", _with_output),
    "policy": ("explain what the policies say of a call", _policy),
    "models": ("the models that can be used", _models),
    "sessions": ("list, show, resume, undo and export sessions", _sessions),
    "stats": ("how long calls take and how often they fail", _stats),
    "trace": ("the six stages of one call, with their times", _trace),
    "config": ("show the configuration and where it comes from", _config),
    "completion": ("print a completion script for a shell", _completion),
}
