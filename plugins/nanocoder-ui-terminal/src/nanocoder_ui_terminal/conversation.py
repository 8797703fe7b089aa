"""One session as the person sees it: messages, prompts and their runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from signal import SIGINT
from typing import TYPE_CHECKING, Any, Final

from nanocoder import (
    Cancel,
    Event,
    Host,
    Mode,
    PersonError,
    Session,
    StopReason,
    Usage,
    UsageError,
    start_notices,
)
from nanocoder_kit_commands import (
    FileCommand,
    find_file_commands,
    run_command,
    run_shell_parts,
)
from nanocoder_kit_sessions import SessionSummary, session_store

from nanocoder_ui_terminal.call_output import Outputs
from nanocoder_ui_terminal.choices import Models, Sessions
from nanocoder_ui_terminal.mentioned_files import Typed, attach_files
from nanocoder_ui_terminal.plugin_parts import attach_named, plugin_notices
from nanocoder_ui_terminal.prompt_queue import PromptQueue
from nanocoder_ui_terminal.run_summary import conversation_tokens
from nanocoder_ui_terminal.screen import TextScreen
from nanocoder_ui_terminal.table import table_lines
from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import (
    highlight_lines,
    is_diff,
    message_lines,
    shorten_whole_files,
    use_chat_commands,
)

if TYPE_CHECKING:
    from nanocoder_ui_terminal.served_models import ServedModels

WORKS: Final = "working"


class Conversation:
    """One session as the person sees it."""

    def __init__(self, host: Host, session: Session, terminal: Terminal, settings: Any) -> None:
        self.host = host
        self.session = session
        self.terminal = terminal
        self.usage = Usage()
        self.usage_by_model: dict[str, Usage] = {}
        self.context = 0
        """How many tokens the conversation has, as of the latest reply."""
        self.model = ""
        self.asked_model = ""
        self.leaving = Cancel()
        """Set when a signal ends the conversation: each question to the person gives up."""
        self.built_in: Collection[str] = ()
        """Names of commands that no file replaces."""
        self.queue = PromptQueue()
        self.outputs = Outputs()
        self.ended_well = False
        """Whether the latest run ended by itself, so that queued prompts may follow."""
        self.models = Models(partial(_served_models, session))
        self.sessions = Sessions(partial(_sessions_of, host), session.id)
        self._preview: tuple[int, Any] | None = None
        self._is_running = False
        self._settings = settings
        self._news: list[str] = []
        self._notices: list[str] = []
        self._report_count = len(session.plugins.reports)

    def find_model(self) -> str:
        """Look up which model would be asked; return why there is none, or ""."""
        self.model = ""
        try:
            self.model = str(self.session.chosen)
        except PersonError as error:
            return use_chat_commands(str(error))
        return ""

    def take_over(self, before: "Conversation") -> None:
        """Keep the mode and the model that the person set in the conversation *before*."""
        self.session.set_mode(before.session.info.mode)
        if before.asked_model:
            try:
                self.session.set_model(before.asked_model)
                self.asked_model = before.asked_model
            except PersonError as error:
                self.say(use_chat_commands(str(error)), "yellow")

    def say(self, text: str, *styles: str) -> None:
        """Show a message."""
        lines = message_lines(text, self.terminal.width)
        self.show_lines(self.terminal.paint(line, *(styles or ("dim",))) for line in lines)

    def say_notices(self) -> None:
        """Say which rules do not apply and which files make no command, each once."""
        problems = [each.problem for each in self._command_files() if each.problem]
        notices = [*start_notices(self.session.config, self.session.plugins), *problems]
        for line in [*notices, *plugin_notices(self.session)]:
            if line not in self._notices:
                self._notices.append(line)
                self.say(line, "yellow")

    def show_change(self, text: str) -> None:
        """Show a message, as a diff if it is one; whole files are shown as one line each."""
        width = self.terminal.width
        if is_diff(text):
            self.show_lines(highlight_lines(shorten_whole_files(text), width, self.terminal))
        else:
            self.show_lines(message_lines(text, width))

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows in aligned columns."""
        self.show_lines(table_lines(rows, self.terminal))

    def show_lines(self, lines: Iterable[str]) -> None:
        """Show lines that are safe and fit, and an empty one below."""
        self.terminal.write("".join(f"{line}\n" for line in lines) + "\n")

    def show_output(self, argument: str = "") -> None:
        """Show all that the last call printed, or the one that *argument* numbers."""
        try:
            self.show_lines(self.outputs.lines(argument, self.terminal))
        except UsageError as error:
            self.say(str(error), "yellow")

    @property
    def file_commands(self) -> Mapping[str, FileCommand]:
        """The commands that are there as files now."""
        return {each.name: each for each in self._command_files() if not each.problem}

    def problem_of(self, name: str) -> str:
        """Return why the file of the command *name* makes none, or ""."""
        problems = (each.problem for each in self._command_files() if each.name == name)
        return next(filter(None, problems), "")

    def _command_files(self) -> list[FileCommand]:
        return find_file_commands(self.session, self.built_in)

    @property
    def settings(self) -> Any:
        """The settings of the terminal."""
        return self._settings

    def tell_model(self, news: str) -> None:
        """Send *news* along with the next prompt."""
        self._news.append(news)

    def prepare(self, shortened: Any) -> None:
        """Let the next compaction do what was shown, if nothing is said before it."""
        self._preview = len(self.session.messages), shortened

    @property
    def prepared(self) -> Any:
        """The compaction that was shown, None if the conversation went on since."""
        preview, self._preview = self._preview, None
        return preview[1] if preview and preview[0] == len(self.session.messages) else None

    def obey(self, number: int) -> None:
        """React to a signal: Ctrl-C stops a run, every other signal ends the conversation."""
        if number != SIGINT:
            self.leaving.set()
        if self._is_running or number != SIGINT:
            self.session.interrupt(signal=number)

    def work(self, typed: Typed) -> list[Typed]:
        """Run one prompt; those that were queued meanwhile follow only if it ends well.

        Returns the lines that were sent to the model while it worked.
        """
        self.ended_well = False
        with self.screen(self._settings) as screen:
            try:
                self._show_run(typed, screen)
            except PersonError as error:
                screen.say(use_chat_commands(str(error)), "yellow")
        sent = self.queue.end_steering()
        self._suggest_go()
        self.find_model()
        for report in self.session.plugins.reports[self._report_count :]:
            self.say(str(report), "yellow")
        self._report_count = len(self.session.plugins.reports)
        return sent

    @contextmanager
    def screen(self, settings: Any) -> Iterator[TextScreen]:
        """Provide a screen for something that runs, and that Ctrl-C and Escape stop."""
        screen = TextScreen(
            self.terminal,
            settings,
            errors=True,
            unchanged=self.session.info.changes_nothing_by,
            queue=self.queue,
        )
        self._is_running, self.queue.stop = True, partial(self.obey, SIGINT)
        try:
            yield screen
        finally:
            self._is_running, self.queue.stop = False, None
            screen.close()
            self.terminal.write("\n")

    def finish(self, events: Iterable[Event], activity: str = WORKS) -> list[Event]:
        """Return *events* when all have happened; Ctrl-C stops what makes them."""
        with self.stoppable(activity):
            return [*self.events(events)]

    @contextmanager
    def stoppable(self, activity: str = WORKS) -> Iterator[None]:
        """Let Ctrl-C and Escape stop the session's work, of which only a status is shown."""
        if not self.terminal.moves:
            self.say(f"{activity}; Ctrl-C stops it")
        with self.screen(self._settings) as screen:
            screen.start_clock(activity)
            yield

    def events(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield *events*, stopping what makes them when a signal came just before it began."""
        for event in events:
            if self.host.signals.number:
                self.session.interrupt(signal=self.host.signals.number)
            self.outputs.note(event)
            yield event

    def take_early(self, entered: bytes) -> None:
        """Queue the lines that were *entered* before there was a prompt."""
        self.queue.feed(entered)
        self.ended_well = bool(entered)

    def has_plan(self) -> bool:
        """Return whether the last answer is a plan, which /go carries out."""
        messages = self.session.messages
        is_plan = self.session.info.mode is Mode.PLAN
        return is_plan and bool(messages) and messages[-1].role == "assistant"

    def _suggest_go(self) -> None:
        if self.has_plan():
            self.say("/go carries out this plan in mode ask, /go edits lets files change unasked")

    def _show_run(self, typed: Typed, screen: TextScreen) -> None:
        def show(event: Event) -> None:
            if event.kind != "notice" or event.data["text"] not in self._notices:
                screen.show(event)  # the others were said at the start

        named = attach_named(self.session, typed, show)
        prompt = attach_files(
            named.typed, self.session, show, lambda text: screen.say(text, "yellow")
        )
        own, below = typed.text, prompt.text.removeprefix(typed.text) + named.text
        if typed.command:  # what was attached below it comes from other files, and is not run
            own = run_shell_parts(own, partial(run_command, self.session, show))
        # The request comes last: a small model takes what follows it for the request.
        files = [below.removeprefix("\n\n")] if below else []
        text = "\n\n".join([*self._news, *files, own])
        self._news.clear()
        attachments = prompt.attachments + named.attachments
        run = self.session.run(text, attachments=attachments, typed=typed.command or typed.text)
        for event in self.events(run):
            if event.kind == "run.started":
                self.queue.steer = self.session.steer
            show(event)
            if event.kind == "request.finished":
                self.context = conversation_tokens(event.data["usage"])
            elif event.kind == "message" and "usage" in event.data:
                model, usage = self.session.info.model, Usage(**event.data["usage"])
                self.usage_by_model[model] = self.usage_by_model.get(model, Usage()) + usage
        self.usage += self.session.report.usage
        self.ended_well = self.session.report.stop_reason is StopReason.DONE


def _served_models(session: Session) -> Sequence["ServedModels"]:
    # Few conversations look at them.
    from nanocoder_ui_terminal.served_models import served_models

    return served_models(session)


def _sessions_of(host: Host) -> list[SessionSummary]:
    """Return the conversations of the host's directory, the last used first."""
    directory = str(host.cwd)
    sessions = session_store(host).list()
    return [each for each in sessions if each.title and each.is_answered and each.cwd == directory]
