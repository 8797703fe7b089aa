"""A run on the terminal: the answer as it is written, a line for each call, and what goes on."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from nanocoder import Event

from nanocoder_ui_terminal.ahead import Ahead
from nanocoder_ui_terminal.answer import Answer
from nanocoder_ui_terminal.calls import (
    MAX_DEPTH,
    Call,
    Shown,
    clock,
    duration,
    returned_lines,
    running_line,
)
from nanocoder_ui_terminal.echo import Echo
from nanocoder_ui_terminal.lines import in_conversation, message_lines, one_line
from nanocoder_ui_terminal.live import Live
from nanocoder_ui_terminal.terminal import Terminal, cut

TICK_S: Final = 0.1
QUIET_S: Final = 0.15
"""For so long nothing is said of what is going on; most tools are done by then."""
MAX_RUNNING_LINES: Final = 8
CHARS_PER_TOKEN: Final = 4
MAX_FILES: Final = 3
"""So many changed files are named at the end of a run."""
NAME_COLUMNS: Final = 200
MIN_BUSY_COLUMNS: Final = 12
STOPS: Final = "Ctrl-C stops"
MODEL_COLUMNS: Final = 40
ENDINGS: Final = {
    "turn_limit": "stopped: turn limit reached",
    "budget": "stopped: budget used up",
    "loop": "stopped: the model repeated itself",
    "approval_needed": "stopped: a call needed approval and nobody could give it",
    "interrupted": "interrupted",
}


class Limits(Protocol):
    """The settings that a screen looks at."""

    @property
    def diff_lines(self) -> int: ...  # noqa: D102
    @property
    def output_lines(self) -> int: ...  # noqa: D102


class TextScreen:
    """Draws one session. A thread of its own keeps the clock on the screen going.

    With *errors* the message of a run that failed is shown, too; the command line shows its own.
    With *plans* it is said that nothing was changed, whatever the model says of it. *folder* is
    named beside the files that a run changed. What is typed meanwhile goes to *ahead*, if there is
    one, and is shown below the run.
    """

    def __init__(
        self,
        terminal: Terminal,
        settings: Limits,
        *,
        errors: bool = False,
        unchanged: str = "",
        folder: str = "",
        ahead: Ahead | None = None,
    ) -> None:
        self._terminal = terminal
        self._ahead = ahead
        self._errors = errors
        self._unchanged = unchanged
        self._folder = folder
        self._shown = Shown(settings.diff_lines, settings.output_lines)
        self._live = Live(terminal)
        self._echo = Echo(terminal, keys=ahead is not None)
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

    def show(self, event: Event) -> None:
        """Show an event; those that mean nothing to a person are passed over."""
        react = getattr(self, f"_on_{event.kind.replace('.', '_')}", None)
        with self._lock:
            self._leave_out_waiting(event)
            if react is not None:
                react(event)

    def close(self) -> None:
        """Show what is left and give the terminal back."""
        self._stopped.set()
        with self._lock:
            self._finish_answer()
            self._rest()
        self._echo.end()
        if self._ticker is not None:
            self._ticker.join()
        self._echo.close()

    def say(self, text: str, *styles: str) -> None:
        """Show a message beside the run."""
        with self._lock:
            lines = message_lines(text, self._terminal.width)
            self._commit([self._terminal.paint(line, *styles) for line in lines], "note")

    def _on_run_started(self, _event: Event) -> None:
        self._began = time.monotonic()
        self._tokens = 0

    def _on_request_started(self, event: Event) -> None:
        self._written = 0
        self._start("waiting")
        if self._ticker is None and self._terminal.moves:
            # A model may be loaded now, for seconds, and a thread be held up by it.
            self._busy = f"waiting for {one_line(str(event.data.get('model', '')), MODEL_COLUMNS)}"
            self._since -= QUIET_S
            self._paint()
            self._answer.prepare()
            ticker = threading.Thread(target=self._run_clock, daemon=True)
            ticker.start()
            self._ticker = ticker  # only one that runs can be waited for

    def _on_thinking(self, event: Event) -> None:
        self._busy = "thinking"
        self._written += len(event.data["text"])

    def _on_notice(self, event: Event) -> None:
        self._finish_answer()
        self.say(in_conversation(event.data["text"]), "yellow")

    def _on_request_retrying(self, event: Event) -> None:
        self._finish_answer()
        self.say(in_conversation(event.data["message"]), "yellow")
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
        self._start("")

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
        if call is not None:
            call.progress = event.data["text"]

    def _leave_out_waiting(self, event: Event) -> None:
        """Take the time that a person needed for an answer out of the clocks."""
        if self._asking is None or event.call_id != self._asking[0]:
            return
        if event.kind == "call.progress":
            return
        asked, now = self._asking[1], time.monotonic()
        self._asking = None
        self._began += now - asked
        for call in self._calls.values():
            if call.started:
                # One that began while the person was asked has waited for the rest only.
                call.started += now - max(asked, call.started)

    def _on_call_approval_requested(self, event: Event) -> None:
        # Whoever asks draws below; from here on nothing may move.
        self._asking = event.call_id, time.monotonic()
        self._finish_answer()
        self._rest()
        if self._last:
            self._terminal.write("\n")
        self._last = "question"

    _on_call_asked = _on_call_approval_requested

    def _on_call_answered(self, _event: Event) -> None:
        self._start("working")

    def _on_call_approved(self, event: Event) -> None:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.approved = True
        self._start("working")

    def _on_call_edited(self, _event: Event) -> None:
        # What runs is not what the preview showed, so its result is shown in full.
        self._start("working")

    def _on_call_returned(self, event: Event) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None:
            call = Call(event.data["tool"], {})
        lines = returned_lines(call, event.data, self._terminal, self._shown)
        self._commit(lines, "call")
        if not self._calls:
            self._start("")

    def _on_run_finished(self, event: Event) -> None:
        self._finish_answer()
        report, error = event.data, event.data.get("error")
        ending = ENDINGS.get(report["stop_reason"], "")
        if ending and not error:
            self.say(ending, "yellow")
        if error and self._errors:
            self.say(in_conversation(error["message"]), "red")
        summary = message_lines(self._summary(report), self._terminal.width)
        self._commit([self._terminal.paint(line, "dim") for line in summary], "summary")
        self._rest()

    def _summary(self, report: Mapping[str, Any]) -> str:
        usage, dot = report["usage"], f" {self._terminal.sign('dot')} "
        turns = report["turns"]
        words = [f"{turns} turn{'' if turns == 1 else 's'}"]
        if usage["input_tokens"] or usage["output_tokens"]:
            cached = usage["cache_read_tokens"]
            read = f" + {cached:,} cached" if cached else ""
            words.append(f"{usage['input_tokens']:,} in{read}, {usage['output_tokens']:,} out")
        if report["cost"]:
            words.append(f"${report['cost']:.4f}")
        words.append(duration(time.monotonic() - self._began))
        if report["files_changed"]:
            words.append(self._changed(report["files_changed"]))
        elif self._unchanged:
            words.append(f"{self._unchanged}: nothing was changed")
        return dot.join(words)

    def _changed(self, files: Sequence[str]) -> str:
        names = ", ".join(one_line(name, NAME_COLUMNS) for name in files[:MAX_FILES])
        more = f" and {len(files) - MAX_FILES} more" if len(files) > MAX_FILES else ""
        return f"changed {names}{more}{f' in {self._folder}' if self._folder else ''}"

    def _start(self, what: str) -> None:
        self._busy = what
        self._since = time.monotonic()
        self._echo.off()

    def _rest(self) -> None:
        self._busy = ""
        self._open = []
        self._live.update(())
        self._echo.on()

    def _commit(self, lines: Sequence[str], kind: str) -> None:
        """Write lines that stay, apart from what is of another kind."""
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
        ahead = self._ahead if self._echo.reads else None
        typed = ahead.lines(self._terminal) if ahead else []
        is_typing = ahead is not None and ahead.is_typing
        self._live.update(stay, [*self._below(len(typed)), *typed], cursor=is_typing)

    def _below(self, taken: int) -> list[str]:
        """Return what is shown below all that stays: the open answer, and what goes on.

        So many lines are *taken* by what is typed.
        """
        if not self._terminal.moves or not self._busy:
            return []
        lines = []
        if self._open:
            room = max(1, self._terminal.size[1] - MAX_RUNNING_LINES - 4 - taken)
            lines = [*self._gap_before("text"), *self._open[-room:]]
        if time.monotonic() - self._since < QUIET_S:
            return lines
        running = [call for call in self._calls.values() if call.started]
        spinner = self._terminal.spinner(self._tick)
        if running:
            shown = running[-MAX_RUNNING_LINES:]
            below = [running_line(call, spinner, self._terminal) for call in shown]
            return [*lines, *([""] if lines else self._gap_before("call")), *below]
        return [*lines, *([""] if lines or self._last else []), self._status(spinner)]

    def _gap_before(self, kind: str) -> list[str]:
        return [""] if self._last and kind != self._last else []

    def _status(self, spinner: str) -> str:
        words = [clock(time.monotonic() - self._began)]
        tokens = self._tokens + self._written // CHARS_PER_TOKEN
        if tokens:
            words.append(f"{tokens:,} tokens")
        rest = "".join(f" {self._terminal.sign('dot')} {word}" for word in [*words, STOPS])
        # Of the model's name less is needed than of how to stop it.
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
                if self._ahead is not None and is_key:
                    self._ahead.feed(self._echo.read())
                if not self._busy:
                    continue
                self._tick += not is_key
                if self._answer.is_due():
                    self._draw_answer()
                else:
                    self._paint()


def conversation_tokens(usage: Mapping[str, Any]) -> int:
    """Return the size of the conversation after a request; each request holds all before it."""
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return sum(int(usage[name]) for name in names)
