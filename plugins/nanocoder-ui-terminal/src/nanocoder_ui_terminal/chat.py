"""The conversation: read, run, show, until the person leaves."""

from collections.abc import Sequence
from pathlib import Path
from signal import SIGINT
from typing import Any, Final

from nanocoder import (
    Cancel,
    Event,
    Mode,
    PersonError,
    Session,
    StopReason,
    Usage,
    UsageError,
    __version__,
    for_terminal,
)

from nanocoder_ui_terminal.ahead import Ahead
from nanocoder_ui_terminal.choosing import Models, Sessions
from nanocoder_ui_terminal.completion import ChatCompleter, Files
from nanocoder_ui_terminal.echo import enter_kept
from nanocoder_ui_terminal.entry import Entry
from nanocoder_ui_terminal.lines import (
    CHOOSE_HERE,
    in_conversation,
    message_lines,
    one_line,
    shown_lines,
    without_removed,
)
from nanocoder_ui_terminal.mentions import Typed, with_files
from nanocoder_ui_terminal.replay import last_exchange, prompt_lines
from nanocoder_ui_terminal.screen import TextScreen, conversation_tokens
from nanocoder_ui_terminal.slash import COMMANDS, Next, act, values_for
from nanocoder_ui_terminal.table import table_lines
from nanocoder_ui_terminal.terminal import Terminal

PLUGIN: Final = "ui-terminal"
NO_TERMINAL: Final = 'a conversation needs a terminal; without one: nanocoder run "PROMPT"'
USAGE: Final = "chat takes --resume ID, or the first prompt"
MODEL_COLUMNS: Final = 40
LEAVING: Final = ("exit", "quit")
"""What leaves without a slash, too: no model can do anything with it."""
CYCLE: Final = (Mode.PLAN, Mode.ASK, Mode.EDITS)
"""What Shift-Tab goes through; the mode that asks for nothing has to be typed."""


def run(words: Sequence[str], host: Any) -> int:
    """Talk until the person leaves; *words* are `--resume ID` and the first prompt."""
    if not host.is_interactive:
        raise UsageError(NO_TERMINAL)
    resume, first = _parsed(words)
    with host.signals, enter_kept():
        return _talk(host, resume, first)


def _talk(host: Any, resume: str, first: str) -> int:
    """Hold one conversation after the other; returns the exit code."""
    settings = host.plugins.settings(PLUGIN)
    terminal = Terminal.of_process()
    current = ""
    conversation: Conversation | None = None
    while True:
        try:
            with host.session(interactive=True, output="text", resume=resume) as session:
                current = session.id
                before, conversation = conversation, Conversation(host, session, terminal, settings)
                with host.signals.obeyed_by(conversation.obey):
                    following = conversation.talk(first, before)
        except EndedError:
            return int(host.signals.exit_code)
        except PersonError as error:
            if conversation is None or resume == current:
                raise
            conversation.say(in_conversation(str(error)), "yellow")
            following = Next(current)
        if following.resume is None:
            return 0
        resume, first = following.resume, ""


class EndedError(Exception):
    """A signal ends the conversation."""


class Conversation:
    """One session as the person sees it."""

    def __init__(self, host: Any, session: Session, terminal: Terminal, settings: Any) -> None:
        self.host = host
        self.session = session
        self.usage = Usage()
        self.context = 0
        """How many tokens the conversation has, as of the latest reply."""
        self.model = ""
        self.asked_model = ""
        self.terminal = terminal
        self.leaving = Cancel()
        """Set when a signal ends the conversation: whatever waits for the person gives up."""
        self.models = Models(self)
        self.sessions = Sessions(self)
        self._works = False
        self._ahead = Ahead()
        self._ended_well = False
        self._settings = settings
        self._news: list[str] = []
        self._told: list[str] = []
        self._reported = len(session.plugins.reports)
        commands = {name: one.meaning for name, one in COMMANDS.items()}
        completer = ChatCompleter(
            commands, lambda name: values_for(self, name), Files(session.info.cwd)
        )
        self._entry = Entry(
            completer,
            self._history(),
            self._toolbar,
            self._next_mode,
            terminal.sign("prompt"),
            self.leaving,
        )

    def find_model(self) -> str:
        """Look up which model is, or would be, asked; returns why there is none, or nothing."""
        self.model = ""
        try:
            self.model = str(self.session.chosen)
        except PersonError as error:
            return in_conversation(str(error))
        return ""

    def talk(self, first: str = "", before: "Conversation | None" = None) -> Next:
        """Go on until the person wants another session, or to leave.

        Mode and model stay as the person set them in the session *before*.
        """
        if self.host.signals.number:  # before the first prompt Ctrl-C leaves, too
            raise EndedError
        if before is not None:
            self._take_over(before)
        self._greet()
        self.tell_notices()
        typed = Typed(first) if first else self._read()
        while typed is not None:
            if typed.text in LEAVING or _is_command(typed.text):
                following = act(self, f"/{typed.text.removeprefix('/')}")
                if following is not None:
                    break
            else:
                self.work(typed)
            typed = self._read()
        else:
            following = Next(None)
        if following.resume is None:
            self._tell_way_back()
        return following

    def say(self, text: str, *styles: str) -> None:
        """Show a message."""
        lines = message_lines(text, self.terminal.width)
        self._write(self.terminal.paint(line, *(styles or ("dim",))) for line in lines)

    def tell_notices(self) -> None:
        """Say which rules do not hold, each once."""
        for line in self.host.notices(self.session):
            if line not in self._told:
                self._told.append(line)
                self.say(line, "yellow")

    def show_change(self, text: str) -> None:
        """Show a message, as a diff if it is one; of a file that goes only how long it is."""
        self._write(shown_lines(without_removed(text), self.terminal.width, self.terminal))

    def tell_model(self, news: str) -> None:
        """Send *news* along with the next prompt."""
        self._news.append(news)

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows in aligned columns."""
        self._write(table_lines(rows, self.terminal))

    def _take_over(self, before: "Conversation") -> None:
        self.session.set_mode(before.session.info.mode)
        if before.asked_model:
            try:
                self.session.set_model(before.asked_model)
                self.asked_model = before.asked_model
            except PersonError as error:
                self.say(in_conversation(str(error)), "yellow")

    def _tell_way_back(self) -> None:
        if self.session.info.folder is not None and self.session.messages:
            way = f"To resume: nanocoder sessions resume {self.session.id}"
            self.terminal.write(f"{self.terminal.paint(way, 'dim')}\n")

    def _write(self, lines: Any) -> None:
        self.terminal.write("".join(f"{line}\n" for line in lines) + "\n")

    def obey(self, number: int) -> None:
        """Do what a signal wants: Ctrl-C stops a run, every other one ends the conversation."""
        if number != SIGINT:
            self.leaving.set()
        if self._works or number != SIGINT:
            self.session.interrupt(signal=number)

    def _end_if_told_to(self) -> None:
        if self.host.signals.forget_interrupts():
            raise EndedError

    def _read(self) -> Typed | None:
        self._end_if_told_to()
        typed = self._ahead.next() if self._ended_well else None
        if typed is not None:
            self._write(prompt_lines(typed.text, self.terminal))
            self._entry.remember(typed)
            return typed
        try:
            typed = self._entry.read(self._ahead.take())
        except EOFError:
            self._end_if_told_to()
            return None
        self.terminal.write("\n")
        return typed

    def work(self, typed: Typed) -> None:
        """Run one prompt; those that were queued meanwhile follow only if it ends well."""
        screen = TextScreen(
            self.terminal,
            self._settings,
            errors=True,
            unchanged=self.session.info.changes_nothing_by,
            ahead=self._ahead,
        )
        self._works, self._ended_well = True, False
        try:
            self._show_run(typed, screen)
        except PersonError as error:
            screen.say(in_conversation(str(error)), "yellow")
        finally:
            self._works = False
            screen.close()
            self.terminal.write("\n")
        self._offer_to_go_ahead()
        self.find_model()
        for report in self.session.plugins.reports[self._reported :]:
            self.say(str(report), "yellow")
        self._reported = len(self.session.plugins.reports)

    def _offer_to_go_ahead(self) -> None:
        is_plan = self.session.info.mode is Mode.PLAN
        if is_plan and self.session.messages and self.session.messages[-1].role == "assistant":
            self.say("/go carries out this plan in mode ask, /go edits lets files change unasked")

    def _show_run(self, typed: Typed, screen: TextScreen) -> None:
        def show(event: Event) -> None:
            if event.kind != "notice" or event.data["text"] not in self._told:
                screen.show(event)  # the others were said at the start

        prompt = with_files(typed, self.session, show, lambda text: screen.say(text, "yellow"))
        text = "\n\n".join([*self._news, prompt.text])
        self._news.clear()
        attachments = prompt.attachments
        for event in self.session.run(text, attachments=attachments, typed=typed.text):
            if self.host.signals.number:  # it may have come just before the run began
                self.session.interrupt(signal=self.host.signals.number)
            show(event)
            if event.kind == "request.finished":
                self.context = conversation_tokens(event.data["usage"])
        self.usage += self.session.report.usage
        self._ended_well = self.session.report.stop_reason is StopReason.DONE

    def _greet(self) -> None:
        paint, dot = self.terminal.paint, f" {self.terminal.sign('dot')} "
        where = for_terminal(_shortened(self.session.info.cwd))
        name = paint("nanocoder", "bold")
        self.terminal.write(f"{name} {paint(__version__ + dot + where, 'dim')}\n")
        if self.session.messages:
            self.find_model()
            lines = last_exchange(self.session.messages, self.terminal)
            self._write(["", *lines])
            return
        self.say(f"/help lists commands and keys{dot}Ctrl-D leaves")
        problem = self.find_model()
        if problem:
            way = "" if CHOOSE_HERE in problem else f"\n{CHOOSE_HERE}"
            self.say(f"{problem}{way}", "yellow")

    def _toolbar(self) -> str:
        model = one_line(self.model, MODEL_COLUMNS)
        words = [str(self.session.info.mode), model or "no model"]
        if self.context:
            words.append(f"{self.context:,} tokens")
        if self.usage.cost:
            words.append(f"${self.usage.cost:.4f}")
        return f" {self.terminal.sign('dot')} ".join(words)

    def _next_mode(self) -> None:
        mode = self.session.info.mode
        place = CYCLE.index(mode) + 1 if mode in CYCLE else 0
        self.session.set_mode(CYCLE[place % len(CYCLE)])

    def _history(self) -> Path | None:
        if not self._settings.history:
            return None
        try:
            folder: Path = self.host.state_dir
        except PersonError:
            return None
        return folder / "history"


def _parsed(words: Sequence[str]) -> tuple[str, str]:
    """Return the session to resume and the first prompt; raises UsageError."""
    rest = list(words)
    resume = ""
    if rest[:1] == ["--resume"]:
        if len(rest) < 2:  # noqa: PLR2004 - the option and its value
            raise UsageError(USAGE)
        resume, rest = rest[1], rest[2:]
    if rest and rest[0].startswith("-"):
        raise UsageError(f"unknown argument {rest[0]!r}; {USAGE}")
    return resume, " ".join(rest)


def _is_command(text: str) -> bool:
    """Tell a command from a prompt that begins with a path."""
    word = text.split(maxsplit=1)[0]
    return word.startswith("/") and "/" not in word[1:]


def _shortened(path: Path) -> str:
    home = Path.home()
    return (
        f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)
    )
