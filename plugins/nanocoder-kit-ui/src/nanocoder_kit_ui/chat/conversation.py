"""One session as a person works with it: prompts and their runs, whatever screen shows them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from signal import SIGINT
from typing import Any, Final

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
from nanocoder_kit_sessions import FileJournal, SessionSummary, session_store

from nanocoder_kit_ui.chat.choices import Models, Sessions
from nanocoder_kit_ui.chat.display import Display, Running
from nanocoder_kit_ui.chat.mentioned_files import Typed, attach_files
from nanocoder_kit_ui.chat.outputs import Outputs
from nanocoder_kit_ui.chat.plugin_parts import attach_named, plugin_notices
from nanocoder_kit_ui.chat.prompt_files import prompt_files_line
from nanocoder_kit_ui.chat.served_models import served_models
from nanocoder_kit_ui.chat.wording import CHOOSE_HERE, use_chat_commands
from nanocoder_kit_ui.commands import (
    FileCommand,
    find_file_commands,
    run_command,
    run_shell_parts,
)

OTHER_MODE: Final = "this session began in mode {}; it goes on in mode {} (/mode changes it)"
WORKS: Final = "working"


class Conversation:
    """One session, what was typed in it so far, and what it cost; *display* shows it.

    *built_in* are the names of commands that no file replaces. `converse` makes one.
    """

    def __init__(
        self, host: Host, session: Session, display: Display, built_in: Collection[str]
    ) -> None:
        self.host = host
        self.session = session
        self.display = display
        self.is_resumed = bool(session.messages)
        """True if the session was resumed: its earlier requests are not counted here."""
        self.usage = Usage()
        self.usage_by_model: dict[str, Usage] = {}
        self.context = 0
        """Tokens of the conversation as of the latest reply; 0: not counted since."""
        self.stopped_requests = 0
        """The number of requests that were stopped before their tokens were reported."""
        self.model = ""
        self.asked_model = ""
        self.leaving = Cancel()
        """Set when a signal ends the conversation: each question to the person gives up."""
        self.outputs = Outputs()
        self.ended_well = False
        """True if the latest run ended by itself, so that queued prompts may follow."""
        self.models = Models(partial(served_models, session))
        self.sessions = Sessions(partial(_sessions_of, host), session.id, display.shorten)
        self._built_in = built_in
        self._preview: tuple[int, Any] | None = None
        self._is_running = False
        self._is_asking = False
        self._news: list[str] = []
        self._notices: list[str] = []
        self._failures: set[str] = set()
        """Failures of plugins that a run has shown as they happened."""
        self._report_count = len(session.plugins.reports)

    def find_model(self) -> str:
        """Look up which model would be asked; return why there is none, or ""."""
        self.model = ""
        try:
            self.model = str(self.session.chosen)
        except PersonError as error:
            return use_chat_commands(str(error))
        return ""

    def greet(self) -> None:
        """Print the files that the model reads with each prompt, and problems of the model."""
        if files := prompt_files_line(self.session):
            self.display.say(files)
        if problem := self.find_model():
            way = "" if CHOOSE_HERE in problem else f"\n{CHOOSE_HERE}"
            self.display.warn(f"{problem}{way}")

    def take_over(self, before: "Conversation") -> None:
        """Keep the mode and the model that the person set in the conversation *before*."""
        self.session.set_mode(before.session.info.mode)
        if before.asked_model:
            try:
                self.session.set_model(before.asked_model)
                self.asked_model = before.asked_model
            except PersonError as error:
                self.display.warn(use_chat_commands(str(error)))

    @cached_property
    def _mode_notice(self) -> str:
        """A notice if the session is resumed in another mode than that of its start, or "".

        A mode is a permission: who resumes a session gives it again, or not.
        """
        journal, mode = self.session.journal, self.session.info.mode
        first = journal.first() if isinstance(journal, FileJournal) else None
        began = first.data.get("mode", mode) if self.is_resumed and first else mode
        return OTHER_MODE.format(began, mode) if began != mode else ""

    def say_notices(self) -> None:
        """Print the rules that do not apply and the invalid command files, each once."""
        problems = [each.problem for each in self._command_files() if each.problem]
        session = self.session
        notices = [*session.notices, *start_notices(session.config, session.plugins), *problems]
        for line in [self._mode_notice, *notices, *plugin_notices(session)]:
            if line and line not in self._notices:
                self._notices.append(line)
                self.display.warn(use_chat_commands(line))

    def show_output(self, argument: str = "") -> None:
        """Show all that the last call printed, or the one that *argument* numbers."""
        try:
            output = self.outputs.find(argument)
        except UsageError as error:
            self.display.warn(str(error))
            return
        self.display.show_output(output.title, output.read_all().rstrip("\n"))

    @property
    def file_commands(self) -> Mapping[str, FileCommand]:
        """The commands that are there as files now."""
        return {each.name: each for each in self._command_files() if not each.problem}

    def problem_of(self, name: str) -> str:
        """Return the problem of the command file *name*, or "" if it is valid."""
        problems = (each.problem for each in self._command_files() if each.name == name)
        return next(filter(None, problems), "")

    def _command_files(self) -> list[FileCommand]:
        return find_file_commands(self.session, self._built_in)

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

    def work(self, typed: Typed) -> None:
        """Run one prompt, with the files that it names."""
        self.ended_well = False
        with self.running() as view:
            try:
                self._run(typed, view)
            except PersonError as error:
                view.warn(use_chat_commands(str(error)))
        self._suggest_go()
        self.find_model()
        for report in self.session.plugins.reports[self._report_count :]:
            if str(report) not in self._failures:
                self.display.warn(str(report))
        self._report_count = len(self.session.plugins.reports)

    @contextmanager
    def running(self, *, in_full: bool = False) -> Iterator[Running]:
        """Provide what shows something that runs, and that Ctrl-C stops."""
        self._is_running = True
        try:
            with self.display.running(partial(self.obey, SIGINT), in_full=in_full) as view:
                yield view
        finally:
            self._is_running = False

    def finish(self, events: Iterable[Event], activity: str = WORKS) -> list[Event]:
        """Return *events* when all have happened; Ctrl-C stops what makes them."""
        with self.stoppable(activity):
            return [*self.events(events)]

    @contextmanager
    def stoppable(self, activity: str = WORKS) -> Iterator[None]:
        """Let the person stop the session's work, of which only *activity* is shown."""
        self._is_running = True
        try:
            with self.display.waiting(partial(self.obey, SIGINT), activity):
                yield
        finally:
            self._is_running = False

    def events(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield *events*, stopping what makes them when a signal came just before it began."""
        for event in events:
            if self.host.signals.number:
                self.session.interrupt(signal=self.host.signals.number)
            self.outputs.note(event)
            yield event

    def has_plan(self) -> bool:
        """Return True if the last answer is a plan, which /go carries out."""
        messages = self.session.messages
        is_plan = self.session.info.mode is Mode.PLAN
        return is_plan and bool(messages) and messages[-1].role == "assistant"

    def _suggest_go(self) -> None:
        if self.has_plan():
            self.display.say(
                "/go carries out this plan in mode ask, /go edits lets files change unasked"
            )

    def _run(self, typed: Typed, view: Running) -> None:
        def show(event: Event) -> None:
            if event.kind != "notice" or event.data["text"] not in self._notices:
                view.show(event)  # the others were said at the start

        named = attach_named(self.session, typed, show)
        prompt = attach_files(named.typed, self.session, show, view.warn)
        own, below = typed.text, prompt.text.removeprefix(typed.text) + named.text
        if typed.command:  # what was attached below it comes from other files, and is not run
            own = run_shell_parts(own, partial(run_command, self.session, show))
        # The request comes last: a small model takes what follows it for the request.
        files = [below.removeprefix("\n\n")] if below else []
        text = "\n\n".join([*self._news, *files, own])
        self._news.clear()
        attachments = prompt.attachments + named.attachments
        run = self.session.run(text, attachments=attachments, typed=typed.command or typed.text)
        self._is_asking = False
        for event in self.events(run):
            show(event)
            self._count(event)
            if event.kind == "telemetry.failed":
                self._failures.add(event.data["message"])
        if self._is_asking and self.session.report.stop_reason is StopReason.INTERRUPTED:
            # The conversation has the part that was written, and the provider did not count it.
            self.stopped_requests += 1
            self.context = 0
        self.usage += self.session.report.usage
        self.ended_well = self.session.report.stop_reason is StopReason.DONE

    def _count(self, event: Event) -> None:
        """Count the tokens of a reply, for the whole conversation and by model."""
        if event.kind == "request.started":
            self._is_asking = True
        elif event.kind == "request.finished":
            self._is_asking = False
            self.context = conversation_tokens(event.data["usage"])
        elif event.kind == "message" and "usage" in event.data:
            model, usage = self.session.info.model, Usage(**event.data["usage"])
            self.usage_by_model[model] = self.usage_by_model.get(model, Usage()) + usage


def conversation_tokens(usage: Mapping[str, Any]) -> int:
    """Return the size of the conversation after a request; each request holds all before it."""
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return sum(int(usage[name]) for name in names)


def _sessions_of(host: Host) -> list[SessionSummary]:
    """Return the conversations of the host's directory, the last used first."""
    directory = str(host.cwd)
    sessions = session_store(host).list()
    return [each for each in sessions if each.title and each.is_answered and each.cwd == directory]
