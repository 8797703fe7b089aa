"""The session that is served: prompts come from browsers, and one thread works on them."""

import queue
import threading
from signal import SIGINT
from typing import Final

from nanocoder import Host, Mode, PersonError, Session, UsageError

from nanocoder_ui_web.entries import Entries
from nanocoder_ui_web.feed import Feed

MAX_PROMPT_CHARS: Final = 1_000_000


class Conversation:
    """One session; everything but `work` may be called from any thread."""

    def __init__(self, host: Host, session: Session, feed: Feed) -> None:
        self._host = host
        self._session = session
        self._feed = feed
        self._entries = Entries(feed)
        self._inbox: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_working = False
        self._steering: list[str] = []
        self._state = 0

    def work(self) -> None:
        """Work on prompts as they come, until the person leaves."""
        self._entries.show_messages(self._session.messages)
        self._show_state()
        while (prompt := self._inbox.get()) is not None:
            self._run(prompt)
            if self._host.signals.forget_interrupts():
                return

    def submit(self, text: str) -> None:
        """Work on a prompt, or send it with the next request of the run that works now.

        Raises: UsageError if it is empty or too long.
        """
        if not text.strip():
            raise UsageError("the prompt is empty")
        if len(text) > MAX_PROMPT_CHARS:
            raise UsageError(f"the prompt has more than {MAX_PROMPT_CHARS:,} characters")
        with self._lock:
            if not self._is_working:
                self._is_working = True
                self._inbox.put(text)
                return
            self._steering.append(text)
        self._session.steer(text)

    def stop(self) -> None:
        """Stop what runs now."""
        with self._lock:
            is_working = self._is_working
        if is_working:
            self._session.interrupt()

    def set_mode(self, name: str) -> None:
        """Change how much may be done without asking; raises UsageError for an unknown mode."""
        try:
            mode = Mode(name)
        except ValueError:
            modes = ", ".join(Mode)
            raise UsageError(f"there is no mode {name!r}; the modes are {modes}") from None
        self._session.set_mode(mode)
        self._show_state()

    def obey(self, number: int) -> None:
        """React to a signal: Ctrl-C stops a run, every other one leaves."""
        if self._is_working:
            self._session.interrupt(signal=number)
        if number != SIGINT or not self._is_working:
            self._inbox.put(None)

    def _run(self, prompt: str) -> None:
        self._show_state()
        try:
            for event in self._session.run(prompt):
                if event.kind == "run.steered":
                    self._note_sent(event.data["prompt"])
                self._entries.show(event)
        except PersonError as error:
            self._entries.say(str(error))
        with self._lock:
            unsent = "\n\n".join(self._steering)
            self._steering.clear()
            self._is_working = bool(unsent)
        if unsent:  # it came when the run had asked for the last time
            self._inbox.put(unsent)
        self._show_state()

    def _note_sent(self, prompt: str) -> None:
        with self._lock:
            self._steering = [text for text in self._steering if text not in prompt]

    def _show_state(self) -> None:
        info = self._session.info
        self._feed.forget(self._state)
        self._state = self._feed.add(
            "state",
            {
                "working": self._is_working,
                "mode": str(info.mode),
                "modes": [str(mode) for mode in Mode],
                "model": info.model,
                "cwd": str(info.cwd),
                "session": info.id,
            },
        )
