"""The commands of the command line and what each of them takes."""

import argparse
import re
from collections.abc import Callable, Collection
from typing import Any, Final, NoReturn

from nanocoder_schema import did_you_mean

from nanocoder.errors import UsageError

MODES: Final = ("plan", "ask", "edits", "auto")
SHELLS: Final = ("bash", "zsh", "fish", "tcsh")
_CHOICE: Final = re.compile(r"^argument ([^:]*): invalid choice: '([^']*)' \(choose from (.*)\)$")
_NUMBER: Final = re.compile(r"^argument ([^:]*): invalid (int|float) value: (.*)$")
AN_ID: Final = "the session's ID or its beginning (default: the last one here)"
Adder = Callable[[argparse.ArgumentParser], None]


class Parser(argparse.ArgumentParser):
    """Raises instead of leaving, and knows what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        found = _CHOICE.search(message)
        if found is not None:
            name, given, choices = found.groups()
            if name == "COMMAND":
                raise no_command(given, re.findall(r"'([^']*)'", choices))
            hint = did_you_mean(given, re.findall(r"'([^']*)'", choices), ".")
            message = f"{name}: unknown value {given!r}{hint} Choose from {choices}"
        if (number := _NUMBER.search(message)) is not None:
            name, kind, given = number.groups()
            message = f"{name}: expected {'a whole' if kind == 'int' else 'a'} number, got {given}"
        if message.endswith("required: ACTION"):
            (actions,) = (one.choices for one in self._actions if one.metavar == "ACTION")
            message = f"name an action: {', '.join(actions or ())}"
        raise UsageError(f"{message}; see `{self.prog} --help`")


def no_command(name: str, known: Collection[str], prompt: str = "") -> UsageError:
    """Make the error for a word that is no command: a slip, or a prompt."""
    import shlex  # only mistakes need it

    hint = did_you_mean(name, known, ".")
    quoted = shlex.quote(prompt or name)
    return UsageError(
        f"there is no command {name!r}{hint} To give a prompt: nanocoder run {quoted};"
        f" to start a conversation with it: nanocoder chat {quoted};"
        " to see the commands: nanocoder --help"
    )


def session_options(parser: argparse.ArgumentParser, *, inherited: bool = True) -> None:
    """Add the options that may stand before a command, too.

    *inherited* ones have no default of their own: it would hide what stands before the command.
    """
    model, mode, cwd = (argparse.SUPPRESS,) * 3 if inherited else ("", None, ".")
    parser.add_argument(
        "--model", metavar="P/M", default=model, help="the model, as provider/model"
    )
    parser.add_argument(
        "--mode", choices=MODES, default=mode, help="how much nanocoder may do without asking"
    )
    parser.add_argument(
        "--cwd", metavar="DIR", default=cwd, help="the workspace (default: this directory)"
    )


def resume_options(parser: argparse.ArgumentParser, *, inherited: bool = True) -> None:
    """Add the options that continue a session; `--resume` alone continues the last one."""
    default = argparse.SUPPRESS if inherited else ""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c",
        "--continue",
        dest="resume",
        action="store_const",
        const="last",
        default=default,
        help="continue this directory's last session",
    )
    which.add_argument(
        "--resume",
        "--session",
        dest="resume",
        nargs="?",
        const="last",
        metavar="ID",
        default=default,
        help="continue a session (default: the last one here)",
    )


def _chat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="*", help="the first prompt")
    session_options(parser)
    resume_options(parser)


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help='what to do; "-" reads it from standard input')
    session_options(parser)
    parser.add_argument("--output", default="text", metavar="FORMAT", help="text, json or jsonl")
    parser.add_argument("--max-turns", type=int, metavar="N", help="stop after N turns")
    resume_options(parser)
    parser.add_argument(
        "--stdin",
        action=argparse.BooleanOptionalAction,
        help="add standard input to the prompt, however long it takes; or never do"
        " (default: if it is a file, or a pipe that sends something within 3 seconds)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show each change as a diff, and make none"
    )
    parser.add_argument("--dialect", default="", metavar="D", help="offer the tools in a dialect")
    parser.add_argument("--set", default="", metavar="NAME", help="use the plugins of one set only")


def _call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", help="the tool's name")
    parser.add_argument("arguments", nargs="?", default="{}", help="its arguments as JSON")
    session_options(parser)
    parser.add_argument("--output", default="text", choices=("text", "json"), help="output format")


def _with_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="text", choices=("text", "json"), help="output format")


def _of_directory(parser: argparse.ArgumentParser) -> None:
    text = "the directory (default: this one)"
    parser.add_argument("--cwd", metavar="DIR", default=argparse.SUPPRESS, help=text)


def _tools(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", nargs="?", default="", help="show this tool and its parameters")
    _with_output(parser)
    parser.add_argument("--dialect", default="", metavar="D", help="as this dialect offers them")


def _plugins(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=Parser
    )
    listing = actions.add_parser("list", help="every plugin and what it offers")
    listing.add_argument("names", nargs="*", metavar="NAME", help="only these, in full")
    _with_output(listing)
    for name, text in (("install", "install with pip"), ("remove", "uninstall with pip")):
        one = actions.add_parser(name, help=text)
        one.add_argument("names", nargs="+", metavar="NAME", help="for example tool-grep")
    new = actions.add_parser("new", help="create a plugin package with passing tests")
    new.add_argument("kind", choices=("tool", "policy", "provider", "ui"), help="what it is")
    new.add_argument("name", help="its name without the kind, for example wordcount")
    new.add_argument("--into", default=".", metavar="DIR", help="parent directory (default: .)")
    check = actions.add_parser("check", help="run the contract suite on a plugin")
    check.add_argument("name", nargs="?", default="", help="for example tool-grep (default: all)")
    actions.add_parser("lock", help="record what is installed as trusted")
    actions.add_parser("sync", help="compare what is installed with the lock")


def _policy(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=Parser
    )
    explain = actions.add_parser("explain", help="show the verdict on a call and its rule")
    explain.add_argument("tool", help="the tool's name")
    explain.add_argument("arguments", nargs="?", default="{}", help="its arguments as JSON")
    explain.add_argument(
        "--agent", default="", metavar="NAME", help="as a sub-agent with this profile"
    )
    session_options(explain)
    _with_output(explain)


def _sessions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=Parser
    )
    listing = actions.add_parser("list", help="this directory's sessions, the latest first")
    _with_output(listing)
    listing.add_argument(
        "words", nargs="*", metavar="WORD", help="only those with WORD in title or first prompt"
    )
    listing.add_argument("--all", action="store_true", help="the sessions of every directory")
    listing.add_argument(
        "--empty", action="store_true", help="also sessions in which no model answered"
    )
    show = actions.add_parser("show", help="print the transcript of a session")
    resume = actions.add_parser("resume", help="continue a session in a conversation")
    for one in (show, resume):
        one.add_argument("id", nargs="?", default="last", help=AN_ID)
    _with_output(show)
    _session_changes(actions)
    for name, one in actions.choices.items():
        if name != "resume":
            _of_directory(one)
    session_options(resume)


def _session_changes(actions: Any) -> None:
    """Add what makes, changes or deletes something."""
    fork = actions.add_parser("fork", help="start a new session from the messages of another")
    rename = actions.add_parser("rename", help="give a session a title")
    rename.add_argument("id", help='the ID of a session, its beginning, or "last"')
    rename.add_argument("title", nargs="+", metavar="TITLE", help="the new title")
    undo = actions.add_parser("undo", help="restore the files that a session changed")
    export = actions.add_parser("export", help="print a session as Markdown or JSON")
    remove = actions.add_parser("remove", help="delete a session with its backups")
    for one in (fork, undo, export):
        one.add_argument("id", nargs="?", default="last", help=AN_ID)
    remove.add_argument("id", help="the session's ID or its beginning")
    _with_output(fork)
    which = undo.add_mutually_exclusive_group()
    which.add_argument("--call", default="", metavar="CALL", help="only this call")
    which.add_argument("--all", action="store_true", help="everything that the session changed")
    which.add_argument("--redo", action="store_true", help="reverse the last undo")
    undo.add_argument("--file", default="", metavar="PATH", help="only the changes of this file")
    undo.add_argument(
        "--force", action="store_true", help="also restore files that were changed since"
    )
    for one in (undo, remove):
        one.add_argument("--yes", action="store_true", help="do not ask")
    export.add_argument(
        "--output", default="markdown", choices=("markdown", "json"), help="output format"
    )


def _stats(parser: argparse.ArgumentParser) -> None:
    _with_output(parser)
    parser.add_argument("--tool", default="", metavar="NAME", help="only calls of this tool")
    days = "only calls of the last N days (default: all)"
    parser.add_argument("--days", type=float, metavar="N", help=days)
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if an objective is not met"
    )
    _of_directory(parser)


def _trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("call", metavar="CALL_ID", help='the ID of a call, or "last"')
    parser.add_argument("--session", default="last", metavar="ID", help="the session of the call")
    _with_output(parser)
    _of_directory(parser)


def _config(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=Parser
    )
    show = actions.add_parser("show", help="every value and where it comes from")
    where = actions.add_parser("where", help="where one value comes from")
    path = actions.add_parser("path", help="print the path of your configuration file")
    path.add_argument("--project", action="store_true", help="of this project's file instead")
    change = actions.add_parser("set", help="set a value in your configuration file")
    unset = actions.add_parser("unset", help="remove a value from your configuration file")
    for one in (where, change, unset):
        one.add_argument("key", help="a dotted key, for example plugins.strict")
    change.add_argument("value", help="the value, as text or TOML: plan, 20, true, '[\"bash\"]'")
    actions.add_parser("schema", help="print the JSON Schema of the configuration")
    trust = actions.add_parser("trust", help="show this project's settings and apply them")
    trust.add_argument("--yes", action="store_true", help="do not ask")
    actions.add_parser("untrust", help="let this project's settings only tighten again")
    for one in (show, where):
        _with_output(one)
    for one in actions.choices.values():
        _of_directory(one)


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", default="", help="list the models of this provider")
    _with_output(parser)


COMMANDS: dict[str, tuple[str, Adder]] = {
    "chat": ("start a conversation; the same as no command", _chat),
    "run": ("work on one prompt and print the answer", _run),
    "call": ("call one tool, checked like a call of the model", _call),
    "tools": ("list the tools with their risks and costs", _tools),
    "plugins": ("list, install, create and check plugins", _plugins),
    "doctor": ("check this installation", _with_output),
    "policy": ("show whether a tool call would be allowed, and why", _policy),
    "models": ("list the models you can use", _models),
    "sessions": ("list, show, resume, undo and export sessions", _sessions),
    "stats": ("show how long calls take and how often they fail", _stats),
    "trace": ("show the six stages of one call, with their times", _trace),
    "config": ("show and change the configuration", _config),
    "completion": ("print a completion script for a shell", _completion),
}
