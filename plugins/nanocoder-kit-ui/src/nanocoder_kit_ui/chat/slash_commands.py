"""The commands of a conversation: words that begin with a slash."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from nanocoder import Mode, PersonError, UsageError, did_you_mean, one_line, state_dir
from nanocoder_kit_sessions import RecordJournal

from nanocoder_kit_ui.chat.choices import TITLE_COLUMNS, Value
from nanocoder_kit_ui.chat.command_line import run_command_lines
from nanocoder_kit_ui.chat.context_commands import compact, show_context, show_cost
from nanocoder_kit_ui.chat.mentioned_files import Typed
from nanocoder_kit_ui.chat.plugin_commands import run_plugin_command
from nanocoder_kit_ui.chat.plugin_parts import plugin_commands
from nanocoder_kit_ui.chat.reload import reload_configuration
from nanocoder_kit_ui.chat.undo import restore_files
from nanocoder_kit_ui.chat.wording import use_chat_commands

if TYPE_CHECKING:
    from nanocoder_kit_ui.chat.conversation import Conversation

NOTES: Final = "notes.md"
SLIP: Final = 0.7
"""Names begin alike, with a slash: they count as a slip only when they are closer than usual."""
"""The file in the person's own folder for state that keeps what they want to be remembered."""
FORCE: Final = "--force"
"""Put back files that were changed since, too."""
OTHERS: Final = "others"
"""Shows the providers that are not set up yet; a model is named with its provider and a slash."""
MODES: Final = f"; the modes are {', '.join(Mode)}"
GO_AHEAD: Final = "Go ahead with this plan."
NO_PLAN: Final = (
    "there is no plan to carry out: /mode plan, say what you want, and /go after the answer"
)


@frozen
class Next:
    """The next session of the conversation ("" is a new one), or its end."""

    resume: str | None = None


Action = Callable[["Conversation", str], Next | None]


@frozen
class SlashCommand:
    """One command: what it takes, what it is for, what it does."""

    takes: str
    meaning: str
    act: Action


def act(conversation: "Conversation", line: str) -> Next | None:
    """Run the command in *line*; return how to go on if not with the same session.

    The beginning of a name stands for it where no other command begins like that.
    """
    typed, space, argument = line[1:].partition(" ")
    name = _whole_name(conversation, typed.casefold())
    command = COMMANDS.get(ALIASES.get(name, name))
    try:
        if command is not None:
            return command.act(conversation, argument.strip())
        _act_on_added(conversation, name, f"/{name}{space}{argument}")
    except PersonError as error:
        conversation.display.warn(use_chat_commands(str(error)))
    return None


def _names(conversation: "Conversation") -> list[str]:
    """Return the names of all commands: ours, those of files and of plugins."""
    return [*COMMANDS, *conversation.file_commands, *plugin_commands(conversation.session)]


def _whole_name(conversation: "Conversation", name: str) -> str:
    """Return the one command that *name* is the beginning of, else *name* itself."""
    if not name or name in COMMANDS or name in ALIASES:
        return name
    names = _names(conversation)
    begun = [each for each in names if each.startswith(name)]
    return begun[0] if name not in names and len(begun) == 1 else name


def _act_on_added(conversation: "Conversation", name: str, line: str) -> None:
    """Run the command of a file or of a plugin in *line*, or say that there is none."""
    files = conversation.file_commands
    if name in files:
        argument = line[1:].partition(" ")[2].strip()
        conversation.work(Typed(files[name].prompt(argument), command=line))
    elif problem := conversation.problem_of(name):
        conversation.display.warn(problem)
    elif not run_plugin_command(conversation, line):
        names = map("/{}".format, _names(conversation))
        hint = did_you_mean(f"/{name}", names, "; /help lists them", cutoff=SLIP)
        conversation.display.warn(f"unknown command /{one_line(name, 40)}{hint}")


def values_for(conversation: "Conversation", name: str) -> Iterable[Value]:
    """Return the values that a command takes, for completion."""
    if name in {"mode", "go"}:
        return [Value(str(mode)) for mode in Mode]
    if name == "model":
        return conversation.models.values()
    if name == "resume":
        return conversation.sessions.values()
    return ()


def _help(conversation: "Conversation", _argument: str) -> None:
    rows = [
        (f"/{name} {command.takes}".rstrip(), command.meaning) for name, command in COMMANDS.items()
    ]
    rows += [
        (f"/{command.name} {command.takes}".rstrip(), command.meaning)
        for command in conversation.file_commands.values()
    ]
    rows += [
        (f"/{name} {takes}".rstrip(), meaning)
        for name, (takes, meaning) in plugin_commands(conversation.session).items()
    ]
    conversation.display.show_table([*rows, ("", ""), *conversation.display.keys])


def _tools(conversation: "Conversation", argument: str) -> None:
    tools = conversation.session.tools
    if argument:
        if (tool := tools.get(argument)) is None:
            raise UsageError(f"there is no tool {argument!r}{did_you_mean(argument, tools)}")
        conversation.display.say(f"{tool.name} ({tool.risk}, {tool.plugin})\n{tool.description}")
        return
    rows = [
        (tool.name, str(tool.risk), tool.plugin, tool.description.partition("\n")[0])
        for tool in tools.values()
    ]
    conversation.display.show_table(rows)


def _model(conversation: "Conversation", argument: str) -> None:
    session, display = conversation.session, conversation.display
    others = dict(conversation.models.others()) if argument in {"", OTHERS} else {}
    if argument == OTHERS:
        display.show_table([*others.items()])
        return
    if argument:
        session.set_model(argument)
        conversation.asked_model = argument
        conversation.find_model()
        display.say(f"Switched to {session.info.model}")
        return
    current = conversation.model
    display.say(f"Current model: {current or 'none'}")
    if rows := conversation.models.rows(current):
        display.show_table(rows)
    display.say("To change it: /model PROVIDER/MODEL (Tab completes)")
    if others:
        display.say(f"Not set up: {', '.join(others)}; what each needs: /model {OTHERS}")


def _mode(conversation: "Conversation", argument: str) -> None:
    if argument in list(Mode):
        conversation.session.set_mode(Mode(argument))
    elif argument:
        suggestion = did_you_mean(argument, map(str, Mode), MODES)
        conversation.display.warn(f"there is no mode {argument!r}{suggestion}")
        return
    others = "" if argument else MODES
    conversation.display.say(f"mode: {conversation.session.info.mode}{others}")


def _go(conversation: "Conversation", argument: str) -> None:
    mode = Mode(argument) if argument in list(Mode) else Mode.ASK
    if (argument and argument != mode) or mode is Mode.PLAN:
        conversation.display.warn(
            "/go takes a mode in which something may change: ask, edits, auto"
        )
        return
    if not conversation.has_plan():
        conversation.display.warn(NO_PLAN)
        return
    conversation.session.set_mode(mode)
    conversation.work(Typed(GO_AHEAD))


def _resume(conversation: "Conversation", argument: str) -> Next | None:
    matches = conversation.sessions.find(argument)
    if argument and len(matches) == 1:
        return Next(matches[0].id)
    _show_sessions(conversation, argument, matches)
    return None


def _sessions(conversation: "Conversation", argument: str) -> None:
    _show_sessions(conversation, argument, conversation.sessions.find(argument))


def _show_sessions(conversation: "Conversation", query: str, matches: Sequence[Any]) -> None:
    if matches:
        width = conversation.display.columns
        conversation.display.show_table(conversation.sessions.rows(matches, width))
        conversation.display.say("To resume one: /resume NUMBER")
    elif query:
        conversation.display.warn(f"No earlier session here fits {one_line(query, 40)!r}")
    else:
        conversation.display.say("No earlier session in this directory")


def _name(conversation: "Conversation", argument: str) -> None:
    if not argument:
        conversation.display.say("To give this session a title: /name TITLE")
        return
    journal = conversation.session.journal
    if not isinstance(journal, RecordJournal):
        raise UsageError("this session is not kept, so it cannot be named")
    journal.rename(argument)
    conversation.display.say(f"Session named {one_line(argument, TITLE_COLUMNS)!r}")


def _undo(conversation: "Conversation", argument: str) -> None:
    if argument not in {"", FORCE}:
        conversation.display.say(
            f"/undo takes {FORCE} or nothing, not {one_line(argument, TITLE_COLUMNS)!r}"
        )
        return
    restore_files(conversation, redo=False, force=argument == FORCE)


def _redo(conversation: "Conversation", _argument: str) -> None:
    restore_files(conversation, redo=True)


def _rewind(conversation: "Conversation", argument: str) -> None:
    from nanocoder_kit_ui.chat.rewind import rewind  # 12 modules; a start of a chat needs none

    rewind(conversation, argument)


def _remember(conversation: "Conversation", argument: str) -> None:
    if not argument:
        conversation.display.say("To keep a note for every session: /remember TEXT")
        return
    path = state_dir() / NOTES
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"- {' '.join(argument.split())}\n")
    conversation.tell_model(f"[the user wants you to remember: {argument}]")
    conversation.display.say(f"Kept in {path}")


def _output(conversation: "Conversation", argument: str) -> None:
    conversation.show_output(argument)


def _reload(conversation: "Conversation", _argument: str) -> None:
    reload_configuration(conversation)


def _trust(conversation: "Conversation", _argument: str) -> None:
    run_command_lines(conversation, [("config trust", {})])


def _clear(_conversation: "Conversation", _argument: str) -> Next:
    return Next("")


def _exit(_conversation: "Conversation", _argument: str) -> Next:
    return Next(None)


COMMANDS: Final[Mapping[str, SlashCommand]] = {
    "help": SlashCommand("", "commands and keys", _help),
    "model": SlashCommand("[P/M]", "show or change the model", _model),
    "mode": SlashCommand("[MODE]", "show or change what runs without asking", _mode),
    "go": SlashCommand("[MODE]", "leave plan mode and carry out the plan", _go),
    "tools": SlashCommand("[NAME]", "the tools, their risks and owners", _tools),
    "cost": SlashCommand("", "tokens and money so far", show_cost),
    "context": SlashCommand("", "what fills the model's window", show_context),
    "compact": SlashCommand("[WORDS]", "shorten it, keeping WORDS; preview, restore", compact),
    "sessions": SlashCommand("[WORDS]", "earlier sessions in this directory", _sessions),
    "resume": SlashCommand("[NUMBER]", "resume an earlier session, also by ID or words", _resume),
    "name": SlashCommand("TITLE", "give this session a title", _name),
    "remember": SlashCommand("TEXT", "keep a note for every session", _remember),
    "output": SlashCommand("[NUMBER]", "all that the last call printed", _output),
    "undo": SlashCommand("[--force]", "put back the files that the last run changed", _undo),
    "redo": SlashCommand("", "revert the last undo", _redo),
    "rewind": SlashCommand("[NUMBER]", "go back to an earlier prompt", _rewind),
    "reload": SlashCommand("", "read the configuration again", _reload),
    "trust": SlashCommand("", "show this project's settings and apply them", _trust),
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
