"""The commands `sessions …`: find, read, go on with, copy, undo and remove sessions."""

from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Final

from nanocoder import Argument, Command, Host, UsageError, hookimpl
from nanocoder_kit_sessions import remove_old, session_store

OUTPUT: Final = Argument("--output", "output format", default="text", choices=("text", "json"))
DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
YES: Final = Argument("--yes", "do not ask", kind="flag")
SESSION: Final = Argument(
    "id",
    "the session's ID or its beginning (default: the last one here)",
    count="?",
    default="last",
    completes="sessions",
)

FORMATS: Final = tuple(
    Argument(
        option,
        "markdown, a page of HTML, or json",
        default="markdown",
        choices=("markdown", "html", "json"),
        target="format",
        rival_group="format",
    )
    for option in ("--format", "--output")
)

LISTING: Final = (
    Argument("--all", "the sessions of every directory", kind="flag"),
    Argument("--tag", "only those with this tag", metavar="TAG"),
    Argument("--tree", "forks below the session that they began with", kind="flag"),
    Argument("--empty", "also sessions in which no model answered", kind="flag"),
    Argument("--gone", "also sessions whose directory is gone, with --all", kind="flag"),
    OUTPUT,
    DIRECTORY,
)
"""Options of `sessions list`, which `sessions` alone has, too."""


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the group and its actions."""
    return [
        Command(
            "sessions",
            "list (also without an action), show, resume, undo and export sessions",
            _lazy("listing", "list_all"),
            LISTING,
        ),
        _list(),
        _search(),
        _tag(),
        *_reading(),
        _incident(),
        _approve(),
        *_changing(),
        *_removing(),
        _undo(),
        _rewind(),
    ]


def _list() -> Command[Host]:
    return Command(
        "sessions list",
        "this directory's sessions, the latest first",
        _lazy("listing", "list_sessions"),
        (
            Argument(
                "words",
                "only those with WORD in title or first prompt",
                count="*",
                metavar="WORD",
            ),
            *LISTING,
        ),
    )


def _search() -> Command[Host]:
    return Command(
        "sessions search",
        "find sessions by what was said in them",
        _lazy("searching", "search"),
        (
            Argument(
                "text",
                "words that one prompt, answer, call or result has",
                count="*",
                metavar="TEXT",
            ),
            Argument("--tag", "only those with this tag", metavar="TAG"),
            Argument("--here", "only those of this directory", kind="flag"),
            Argument(
                "--limit", "at most so many sessions (default: 20)", kind="integer", metavar="N"
            ),
            OUTPUT,
            DIRECTORY,
        ),
    )


def _tag() -> Command[Host]:
    return Command(
        "sessions tag",
        "give a session tags: +NAME adds one, -NAME removes it",
        _lazy("searching", "tag"),
        (
            DIRECTORY,
            Argument("id", 'the ID of a session, its beginning, or "last"', completes="sessions"),
            Argument("tags", "+NAME or -NAME", count="...", metavar="TAG"),
        ),
    )


def _reading() -> list[Command[Host]]:
    return [
        Command(
            "sessions show",
            "print the transcript of a session",
            _lazy("reading", "show"),
            (SESSION, OUTPUT, DIRECTORY),
        ),
        Command(
            "sessions export",
            "print a session as Markdown, HTML or JSON",
            _lazy("reading", "export"),
            (
                SESSION,
                *FORMATS,
                Argument("--unredacted", "with secrets, as the session has them", kind="flag"),
                DIRECTORY,
            ),
        ),
        Command(
            "sessions resume",
            "continue a session in a conversation",
            _lazy("changing", "resume"),
            (
                SESSION,
                Argument(
                    "--model", "the model, as provider/model", metavar="P/M", completes="models"
                ),
                Argument(
                    "--mode",
                    "how much nanocoder may do without asking",
                    choices=("plan", "ask", "edits", "auto"),
                ),
                Argument("--cwd", "the workspace (default: this directory)", metavar="DIR"),
            ),
        ),
    ]


def _incident() -> Command[Host]:
    return Command(
        "sessions incident",
        "print a note about an incident, filled from a session",
        _lazy("incident", "incident"),
        (
            SESSION,
            Argument("--owner", "who sees to it", metavar="NAME", default=""),
            Argument(
                "--expected-end",
                "when it is expected to end, such as 2030-01-05T18:00Z",
                metavar="TIME",
                default="",
            ),
            DIRECTORY,
        ),
    )


def _approve() -> Command[Host]:
    return Command(
        "sessions approve",
        "decide about calls that wait for approval, and continue",
        _lazy("deciding", "approve"),
        (
            SESSION,
            Argument(
                "calls",
                "CALL:DIGEST of each call to approve, as listed without one; for example: nanocoder"
                " sessions approve last call-1:0f3a9c2b41d87e65",
                count="*",
                metavar="CALL",
            ),
            OUTPUT,
            Argument("--model", "the model, as provider/model", metavar="P/M", completes="models"),
            DIRECTORY,
        ),
        outside_calls=True,
    )


def _changing() -> list[Command[Host]]:
    return [
        Command(
            "sessions fork",
            "start a new session from the messages of another",
            _lazy("changing", "fork"),
            (
                SESSION,
                Argument(
                    "--at",
                    "begin with what came before prompt N, as `sessions show` numbers them; N.M:"
                    " with prompt N and the first M replies to it",
                    metavar="N",
                ),
                OUTPUT,
                DIRECTORY,
            ),
        ),
        Command(
            "sessions rename",
            "give a session a title",
            _lazy("changing", "rename"),
            (
                Argument(
                    "id", 'the ID of a session, its beginning, or "last"', completes="sessions"
                ),
                Argument("title", "the new title", count="+", metavar="TITLE"),
                DIRECTORY,
            ),
        ),
    ]


def _removing() -> list[Command[Host]]:
    return [
        Command(
            "sessions remove",
            "delete a session with its backups",
            _lazy("changing", "remove"),
            (
                Argument(
                    "id", "the session's ID or its beginning", count="?", completes="sessions"
                ),
                Argument(
                    "--old",
                    "put all that are unused for keep_sessions_days days into the trash",
                    kind="flag",
                ),
                YES,
                DIRECTORY,
            ),
        ),
        Command(
            "sessions restore",
            "restore a session from the trash, where old ones are moved",
            _lazy("changing", "restore"),
            (
                Argument("id", "its ID or the beginning (default: list them)", count="?"),
                DIRECTORY,
            ),
        ),
    ]


def _undo() -> Command[Host]:
    return Command(
        "sessions undo",
        "restore the files that a session changed",
        _lazy("undo", "undo"),
        (
            SESSION,
            Argument("--call", "only this call", metavar="CALL", rival_group="which"),
            Argument(
                "--all", "everything that the session changed", kind="flag", rival_group="which"
            ),
            Argument("--redo", "reverse the last undo", kind="flag", rival_group="which"),
            Argument("--file", "only the changes of this file", metavar="PATH"),
            Argument("--force", "also restore files that were changed since", kind="flag"),
            YES,
            OUTPUT,
            DIRECTORY,
        ),
    )


def _rewind() -> Command[Host]:
    return Command(
        "sessions rewind",
        "go back to before a prompt: conversation and files",
        _lazy("undo", "rewind"),
        (
            SESSION,
            Argument(
                "--to",
                "before prompt N, as `sessions show` numbers them",
                kind="integer",
                metavar="N",
            ),
            Argument("--conversation", "only the conversation", kind="flag", rival_group="what"),
            Argument("--files", "only the files", kind="flag", rival_group="what"),
            Argument("--force", "also restore files that were changed since", kind="flag"),
            YES,
            OUTPUT,
            DIRECTORY,
        ),
    )


def _lazy(module: str, function: str) -> Callable[[Namespace, Host], int]:
    """Return a command's function, which imports its module when it is called."""
    return partial(_run, module, function)


def _run(module: str, function: str, arguments: Namespace, host: Host) -> int:
    with suppress(UsageError):  # of a store of another kind, which some of the commands can use
        if not getattr(arguments, "old", False):
            remove_old(session_store(host), host.config.core.keep_sessions_days, host.say)
    run = getattr(import_module(f"{__name__}.{module}"), function)
    return int(run(arguments, host))
