"""A run on the terminal: the answer as it is written, a line for each call, and a status line."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nanocoder import Event
from nanocoder_kit_ui.chat import conversation_tokens, use_chat_commands

from nanocoder_ui_terminal.answer_text import Answer
from nanocoder_ui_terminal.call_lines import (
    MAX_DEPTH,
    Call,
    Limits,
    LineLimits,
    clock,
    live_lines,
    returned_lines,
    running_line,
)
from nanocoder_ui_terminal.echo import Echo
from nanocoder_ui_terminal.live_lines import LiveLines
from nanocoder_ui_terminal.prompt_queue import PromptQueue
from nanocoder_ui_terminal.run_summary import endings, run_summary
from nanocoder_ui_terminal.terminal import Terminal, cut
from nanocoder_ui_terminal.text_lines import message_lines, one_line, prompt_lines

TICK_S: Final = 0.1
MIN_ERROR_LINES: Final = 6
FRAME_S: Final = 0.016
"""The output of running commands is painted at most this often."""
QUIET_S: Final = 0.15
"""The status line waits this long to appear; most tools are finished by then."""
MAX_RUNNING_LINES: Final = 8
CHARS_PER_TOKEN: Final = 4
MIN_BUSY_COLUMNS: Final = 12
STOPS: Final = "Ctrl-C stops"
MODEL_COLUMNS: Final = 40


class TextScreen:
    """Draws one session. A thread of its own keeps the clock on the screen going.

    With *errors* failures of the run and of plugins are shown, too; the command line shows its own.
    *unchanged* names what keeps the session from changing anything; the summary then says that
    nothing was changed, since the model may claim otherwise. *folder* is named beside the files
    that a run changed. Keys typed meanwhile go to *queue*, if there is one; it is shown below.
    """

    def __init__(
        self,
        terminal: Terminal,
        settings: Limits,
        *,
        errors: bool = False,
        unchanged: str = "",
        folder: str = "",
        queue: PromptQueue | None = None,
    ) -> None:
        self._terminal = terminal
        self._queue = queue
        self._errors = errors
        self._unchanged = unchanged
        self._folder = folder
        self._limits = LineLimits(
            settings.diff_lines, settings.output_lines, max(MIN_ERROR_LINES, settings.output_lines)
        )
        self._live_lines = settings.live_lines
        self._painted = 0.0
        self._live = LiveLines(terminal)
        self._echo = Echo(terminal, keys=queue is not None)
        self._answer = Answer(colour=terminal.colour)
        self._open: list[str] = []
        self._calls: dict[str, Call] = {}
        self._last = ""
        self._busy = ""
        self._since = self._began = time.monotonic()
        self._asking: tuple[str, float] | None = None
        self._tokens = 0
        self._written = 0
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._ticker: threading.Thread | None = None
        self._tick = 0
        self._reactions = self._reactions_by_kind()

    def show(self, event: Event) -> None:
        """Show an event; kinds that mean nothing to a person are ignored."""
        react = self._reactions.get(event.kind)
        with self._lock:
            self._leave_out_waiting(event)
            if react is not None:
                react(event)

    def close(self) -> None:
        """Show the rest of the answer and give the terminal back."""
        self._stopped.set()
        with self._lock:
            self._finish_answer()
            self._go_idle()
        self._echo.end()
        if self._ticker is not None:
            self._ticker.join()
        self._echo.close()

    @property
    def has_written(self) -> bool:
        """True once permanent lines were written."""
        return bool(self._last)

    def start_clock(self, activity: str = "") -> None:
        """Read what is typed, and show *activity* with the time; a run does this by itself."""
        if self._ticker is None and self._terminal.moves:
            self._set_busy(activity)
            self._start_ticker()

    def say(self, text: str, *styles: str) -> None:
        """Show a message beside the run."""
        with self._lock:
            lines = message_lines(text, self._terminal.width)
            self._commit([self._terminal.paint(line, *styles) for line in lines], "note")

    def _say_after_answer(self, text: str, style: str) -> None:
        self._finish_answer()
        self.say(text, style)

    def _reactions_by_kind(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "run.started": self._on_run_started,
            "run.steered": self._on_run_steered,
            "request.started": self._on_request_started,
            "request.progress": self._on_request_progress,
            "request.retrying": self._on_request_retrying,
            "request.finished": self._on_request_finished,
            "thinking": self._on_thinking,
            "text": self._on_text,
            "notice": self._on_notice,
            "telemetry.failed": self._on_telemetry_failed,
            "transcript.compacted": self._on_compacted,
            "call.received": self._on_call_received,
            "call.started": self._on_call_started,
            "call.progress": self._on_call_progress,
            "call.approval_requested": self._on_question,
            "call.asked": self._on_question,
            "call.answered": self._on_call_answered,
            "call.approved": self._on_call_approved,
            # The edited call is not what the preview showed, so its result is shown in full.
            "call.edited": self._on_call_answered,
            "call.returned": self._on_call_returned,
            "run.finished": self._on_run_finished,
        }

    def _on_run_started(self, _event: Event) -> None:
        self._began = time.monotonic()
        self._tokens = 0

    def _on_run_steered(self, event: Event) -> None:
        if self._queue is not None:
            self._queue.note_sent()
        self._finish_answer()
        note = self._terminal.paint("typed while it worked:", "dim")
        self._commit([note, *prompt_lines(event.data["prompt"], self._terminal)], "steered")

    def _on_request_started(self, event: Event) -> None:
        self._written = 0
        self._set_busy("waiting")
        if self._ticker is None and self._terminal.moves:
            # Loading a model may take seconds and hold up other threads, so the first frame is now.
            self._busy = f"waiting for {one_line(str(event.data.get('model', '')), MODEL_COLUMNS)}"
            self._since -= QUIET_S
            self._paint()
            self._answer.prepare()
            self._start_ticker()

    def _on_thinking(self, event: Event) -> None:
        self._busy = "thinking"
        self._written += len(event.data["text"])

    def _on_notice(self, event: Event) -> None:
        self._say_after_answer(use_chat_commands(event.data["text"]), "yellow")

    def _on_telemetry_failed(self, event: Event) -> None:
        # A plugin failed to record something; the command line reports that at the end.
        if event.data["part"] == "hook" and self._errors:
            self._say_after_answer(event.data["message"], "yellow")

    def _on_compacted(self, event: Event) -> None:
        self._say_after_answer(event.data["message"], "dim")

    def _on_request_progress(self, event: Event) -> None:
        self._busy = one_line(event.data["text"], MODEL_COLUMNS)

    def _on_request_retrying(self, event: Event) -> None:
        self._say_after_answer(use_chat_commands(event.data["message"]), "yellow")
        self._busy = "waiting"

    def _on_text(self, event: Event) -> None:
        self._busy = "writing"
        self._written += len(event.data["text"])
        self._answer.feed(event.data["text"])
        if self._terminal.moves and self._answer.is_due():
            self._draw_answer()

    def _on_request_finished(self, event: Event) -> None:
        usage = event.data["usage"]
        self._tokens = conversation_tokens(usage)
        self._written = 0
        self._finish_answer()
        if event.data.get("truncated"):
            self.say("the reply was cut off by the model's token limit", "yellow")
        self._set_busy("")

    def _on_call_received(self, event: Event) -> None:
        parent = self._calls.get(event.data.get("parent", ""))
        depth = min(MAX_DEPTH, parent.depth + 1) if parent else 0
        arguments = event.data["arguments"]
        self._calls[event.call_id] = Call(event.data["tool"], arguments, depth)
        self._busy = self._busy or "working"

    def _on_call_started(self, event: Event) -> None:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.tool, call.arguments = event.data["tool"], event.data["arguments"]
            call.edited = event.data.get("edited", False)
            call.started = time.monotonic()
        self._busy = self._busy or "working"

    def _on_call_progress(self, event: Event) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            return
        if not event.data.get("is_output"):
            call.progress = event.data["text"]
            return
        call.add_output(event.data["text"])
        if time.monotonic() >= self._painted + FRAME_S:
            self._paint()

    def _leave_out_waiting(self, event: Event) -> None:
        """Take the time that a person needed for an answer out of the clocks."""
        if self._asking is None or event.call_id != self._asking[0]:
            return
        if event.kind == "call.progress":
            return
        asked_at, now = self._asking[1], time.monotonic()
        self._asking = None
        self._began += now - asked_at
        for call in self._calls.values():
            if call.started:
                # A call that began during the question waited only for the rest of it.
                call.started += now - max(asked_at, call.started)

    def _on_question(self, event: Event) -> None:
        # The question is drawn below by another part of us; until its answer nothing may move.
        self._asking = event.call_id, time.monotonic()
        self._finish_answer()
        self._go_idle()
        if self._last:
            self._terminal.write("\n")
        self._last = "question"

    def _on_call_answered(self, _event: Event) -> None:
        self._set_busy("working")

    def _on_call_approved(self, event: Event) -> None:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.approved = True
        self._set_busy("working")

    def _on_call_returned(self, event: Event) -> None:
        call = self._calls.pop(event.call_id, None) or Call(event.data["tool"], {})
        lines = returned_lines(call, event.data, self._terminal, self._limits)
        self._commit(lines, "call")
        if not self._calls:
            self._set_busy("")

    def _on_run_finished(self, event: Event) -> None:
        self._finish_answer()
        for text, style in endings(event.data, errors=self._errors):
            self.say(use_chat_commands(text), style)
        seconds = time.monotonic() - self._began
        text = run_summary(event.data, seconds, self._unchanged, self._folder, self._terminal)
        summary = message_lines(text, self._terminal.width)
        self._commit([self._terminal.paint(line, "dim") for line in summary], "summary")
        self._go_idle()

    def _start_ticker(self) -> None:
        ticker = threading.Thread(target=self._run_clock, daemon=True)
        ticker.start()
        self._ticker = ticker  # a thread that never started cannot be joined

    def _set_busy(self, activity: str) -> None:
        self._busy = activity
        self._since = time.monotonic()
        self._echo.off()

    def _go_idle(self) -> None:
        self._busy = ""
        self._open = []
        self._live.update(())
        self._echo.on()

    def _commit(self, lines: Sequence[str], kind: str) -> None:
        """Write lines that stay, with an empty line before those of another kind."""
        gap = self._gap_before(kind)
        self._last = kind
        self._paint([*gap, *lines])

    def _draw_answer(self) -> None:
        stay, self._open = self._answer.draw(self._terminal.width)
        if stay:
            self._commit(stay, "text")
        else:
            self._paint()

    def _finish_answer(self) -> None:
        lines = self._answer.finish(self._terminal.width)
        self._open = []
        if lines:
            self._commit(lines, "text")

    def _paint(self, stay: Sequence[str] = ()) -> None:
        queue = self._queue if self._echo.reads else None
        typed = queue.lines(self._terminal) if queue else []
        is_typing = queue is not None and queue.is_typing
        self._painted = time.monotonic()
        self._live.update(stay, [*self._moving_lines(len(typed)), *typed], cursor=is_typing)

    def _moving_lines(self, typed_lines: int) -> list[str]:
        """Return the lines below those that stay: the open answer, and running calls or a status.

        The line that the person types takes *typed_lines* of the screen.
        """
        if not self._terminal.moves or not self._busy:
            return []
        lines = []
        if self._open:
            room = max(1, self._terminal.size[1] - MAX_RUNNING_LINES - 4 - typed_lines)
            lines = [*self._gap_before("text"), *self._open[-room:]]
        if time.monotonic() - self._since < QUIET_S:
            return lines
        running = [call for call in self._calls.values() if call.started]
        spinner = self._terminal.spinner(self._tick)
        if running:
            latest = running[-MAX_RUNNING_LINES:]
            room = self._terminal.size[1] - len(latest) - len(lines) - typed_lines - 2
            limit = self._live_limit(latest, room)
            below = []
            for call in latest:
                below.append(running_line(call, spinner, self._terminal))
                below += live_lines(call, limit, self._terminal)
            return [*lines, *([""] if lines else self._gap_before("call")), *below]
        return [*lines, *([""] if lines or self._last else []), self._status(spinner)]

    def _live_limit(self, calls: Sequence[Call], room: int) -> int:
        """Return the number of output lines that each running call may show."""
        talking = sum(bool(call.output) for call in calls)
        is_expanded = self._queue is not None and self._queue.is_expanded
        lines = room if is_expanded else min(room, self._live_lines)
        return max(0, lines // max(1, talking))

    def _gap_before(self, kind: str) -> list[str]:
        return [""] if self._last and kind != self._last else []

    def _status(self, spinner: str) -> str:
        words = [clock(time.monotonic() - self._began)]
        tokens = self._tokens + self._written // CHARS_PER_TOKEN
        if tokens:
            words.append(f"{tokens:,} tokens")
        rest = "".join(f" {self._terminal.sign('dot')} {word}" for word in [*words, STOPS])
        # The key that stops the run matters more than the end of the model's name.
        room = max(MIN_BUSY_COLUMNS, self._terminal.width - len(rest))
        text = cut(cut(f"{spinner} {self._busy}", room) + rest, self._terminal.width)
        return self._terminal.paint(text, "dim")

    def _run_clock(self) -> None:
        while not self._stopped.is_set():
            is_key = self._echo.wait(TICK_S)
            with self._lock:
                if self._stopped.is_set():
                    return
                self._echo.keep()
                if self._queue is not None and is_key:
                    self._queue.feed(self._echo.read())
                elif self._queue is not None:
                    self._queue.note_quiet()
                if not self._busy:
                    continue
                self._tick += not is_key
                if self._answer.is_due():
                    self._draw_answer()
                else:
                    self._paint()
