"""The commands of a conversation: words that begin with a slash."""

import time
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from attrs import frozen
from nanocoder import Mode, PersonError

from nanocoder_ui_terminal.lines import in_conversation, one_line
from nanocoder_ui_terminal.mentions import Typed
from nanocoder_ui_terminal.reloading import reload
from nanocoder_ui_terminal.undoing import put_back

if TYPE_CHECKING:
    from nanocoder_ui_terminal.chat import Conversation

KEYS: Final = (
    ("Enter", "send; while the model works: queue, and Backspace on an empty line takes it back"),
    ("Alt-Enter, Ctrl-J, or \\ Enter", "new line"),
    ("Tab", "complete a command or a file"),
    ("@path", "send a file along"),
    ("Shift-Tab", "next mode: plan, ask, edits"),
    ("Ctrl-C", "clear the line, or stop the run; on an empty line, twice: leave"),
    ("Ctrl-R", "search what you typed before"),
    ("Ctrl-D", "leave"),
)
MAX_SESSIONS: Final = 15
TITLE_COLUMNS: Final = 50
GO_AHEAD: Final = "Go ahead with this plan."


@frozen
class Next:
    """How the conversation goes on: with another session ("" is a new one), or not at all."""

    resume: str | None = None


Action = Callable[["Conversation", str], Next | None]


@frozen
class SlashCommand:
    """One command: what it takes, what it is for, what it does."""

    takes: str
    meaning: str
    act: Action


def act(conversation: "Conversation", line: str) -> Next | None:
    """Do what *line* says; returns how to go on if not with the same session."""
    name, _, argument = line[1:].partition(" ")
    name = name.casefold()
    command = COMMANDS.get(ALIASES.get(name, name))
    if command is None:
        close = get_close_matches(name, list(COMMANDS), n=1)
        hint = f"; did you mean /{close[0]}?" if close else "; /help lists them"
        conversation.say(f"unknown command /{one_line(name, 40)}{hint}", "yellow")
        return None
    try:
        return command.act(conversation, argument.strip())
    except PersonError as error:
        conversation.say(in_conversation(str(error)), "yellow")
        return None


def values_for(conversation: "Conversation", name: str) -> Iterable[tuple[str, str]]:
    """Return what a command may be given, and what that is, for completion."""
    if name in {"mode", "go"}:
        return [(str(mode), "") for mode in Mode]
    if name == "model":
        offers = conversation.session.plugins.offers("providers")
        return [(f"{one['name']}/{one['default_model']}", one["description"]) for _, one in offers]
    if name == "resume":
        sessions = conversation.host.sessions()[:MAX_SESSIONS]
        return [(one.id, one_line(one.title, TITLE_COLUMNS)) for one in sessions]
    return ()


def _help(conversation: "Conversation", _argument: str) -> None:
    rows = [(f"/{name} {one.takes}".rstrip(), one.meaning) for name, one in COMMANDS.items()]
    conversation.show_table([*rows, ("", ""), *KEYS])


def _tools(conversation: "Conversation", _argument: str) -> None:
    rows = [
        (tool.name, str(tool.risk), tool.plugin, tool.description.partition("\n")[0])
        for tool in conversation.session.tools.values()
    ]
    conversation.show_table(rows)


def _model(conversation: "Conversation", argument: str) -> None:
    session = conversation.session
    if argument:
        session.set_model(argument)
        conversation.asked_model = argument
        conversation.find_model()
        conversation.say(f"Switched to {session.info.model}")
        return
    rows = [
        (f"{offer['name']}/{offer['default_model'] or 'MODEL'}", offer["description"])
        for _, offer in session.plugins.offers("providers")
    ]
    conversation.say(f"Current model: {conversation.model or 'none'}")
    conversation.show_table(rows)


def _mode(conversation: "Conversation", argument: str) -> None:
    if argument in list(Mode):
        conversation.session.set_mode(Mode(argument))
    elif argument:
        conversation.say(f"the modes are {', '.join(Mode)}", "yellow")
        return
    others = "" if argument else f"; the modes are {', '.join(Mode)}"
    conversation.say(f"mode: {conversation.session.info.mode}{others}")


def _go(conversation: "Conversation", argument: str) -> None:
    mode = Mode(argument) if argument in list(Mode) else Mode.ASK
    if (argument and argument != mode) or mode is Mode.PLAN:
        conversation.say(
            "/go takes a mode in which something may change: ask, edits, auto", "yellow"
        )
        return
    conversation.session.set_mode(mode)
    conversation.work(Typed(GO_AHEAD))


def _cost(conversation: "Conversation", _argument: str) -> None:
    usage = conversation.usage
    price = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    rows = [
        ("conversation", f"{conversation.context:,} tokens"),
        ("all requests: input", f"{usage.input_tokens:,} tokens"),
        ("from the cache", f"{usage.cache_read_tokens:,} tokens"),
        ("output", f"{usage.output_tokens:,} tokens"),
        ("cost", price),
    ]
    conversation.show_table(rows)


def _resume(conversation: "Conversation", argument: str) -> Next | None:
    if not argument:
        _sessions(conversation, "")
        conversation.say("To resume one: /resume ID")
        return None
    found = [one.id for one in conversation.host.sessions() if one.id.startswith(argument)]
    if len(found) == 1:
        return Next(found[0])
    problem = "Several sessions begin" if found else "No session in this directory begins"
    conversation.say(f"{problem} with {one_line(argument, 40)}", "yellow")
    return None


def _sessions(conversation: "Conversation", _argument: str) -> None:
    rows = [
        (
            one.id,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(one.updated)),
            f"{one.turns} turn{'' if one.turns == 1 else 's'}",
            one_line(one.title, TITLE_COLUMNS),
        )
        for one in conversation.host.sessions()[:MAX_SESSIONS]
    ]
    if rows:
        conversation.show_table(rows)
    else:
        conversation.say("No earlier session in this directory")


def _undo(conversation: "Conversation", _argument: str) -> None:
    put_back(conversation, redo=False)


def _redo(conversation: "Conversation", _argument: str) -> None:
    put_back(conversation, redo=True)


def _reload(conversation: "Conversation", _argument: str) -> None:
    reload(conversation)


def _clear(_conversation: "Conversation", _argument: str) -> Next:
    return Next("")


def _exit(_conversation: "Conversation", _argument: str) -> Next:
    return Next(None)


COMMANDS: Final[Mapping[str, SlashCommand]] = {
    "help": SlashCommand("", "commands and keys", _help),
    "model": SlashCommand("[P/M]", "show or change the model", _model),
    "mode": SlashCommand("[MODE]", "show or change what runs without asking", _mode),
    "go": SlashCommand("[MODE]", "leave plan mode and carry out the plan", _go),
    "tools": SlashCommand("", "the tools, their risks and owners", _tools),
    "cost": SlashCommand("", "tokens and money so far", _cost),
    "sessions": SlashCommand("", "earlier sessions in this directory", _sessions),
    "resume": SlashCommand("[ID]", "resume an earlier session", _resume),
    "undo": SlashCommand("", "put back the files that the last run changed", _undo),
    "redo": SlashCommand("", "revert the last undo", _redo),
    "reload": SlashCommand("", "read the configuration again", _reload),
    "clear": SlashCommand("", "start a new session", _clear),
    "exit": SlashCommand("", "leave", _exit),
}
ALIASES: Final[Mapping[str, str]] = {
    "new": "clear",
    "q": "exit",
    "quit": "exit",
    "stats": "cost",
    "usage": "cost",
}
"""Other words that people try; help and completion leave them out."""
