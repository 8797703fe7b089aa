"""The conversation that is served: lines come from browsers, and one thread works on them."""

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from signal import SIGINT
from typing import Any, Final

from nanocoder import Host, Mode, PersonError, Session, UsageError, for_terminal
from nanocoder_kit_ui.chat import (
    Completions,
    Conversation,
    Next,
    Typed,
    converse,
    respond,
    use_chat_commands,
    waits,
)

from nanocoder_ui_web.display import WebDisplay
from nanocoder_ui_web.entries import Entries
from nanocoder_ui_web.feed import Feed
from nanocoder_ui_web.questions import Questions

MAX_PROMPT_CHARS: Final = 1_000_000
MAX_SUGGESTIONS: Final = 50
STAYS: Final = (
    "Only the terminal that shows the link can end nanocoder, with Ctrl-C; to leave, close this tab"
)
STOPPED: Final = "Stopped what runs. Ctrl-C again leaves."
NOT_OPEN: Final = "no session is open at this moment; try it again"


class Talk:
    """One session after the other; everything but `work` may be called from any thread.

    *tell* prints a line in the terminal that the command runs in.
    """

    def __init__(
        self,
        host: Host,
        feed: Feed,
        questions: Questions,
        output: str,
        tell: Callable[[str], None],
    ) -> None:
        self._host = host
        self._feed = feed
        self._output = output
        self._tell = tell
        self.kept = ""
        """The ID of the session that was left, if it has a prompt and is saved."""
        self._entries = Entries(feed)
        self._display = WebDisplay(self._entries, questions)
        self._inbox: queue.SimpleQueue[Typed | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_working = False
        self._steering: list[str] = []
        self._state = 0
        self._conversation: Conversation | None = None
        self._completing = threading.Lock()
        self._completions: Completions | None = None

    def work(self, resume: str, ready: Callable[[], None]) -> None:
        """Work on lines as they come until the person leaves, first in the session *resume*.

        *ready* is called once, when that is open.
        """
        before: Conversation | None = None
        following = Next(resume)
        while following.resume is not None:
            current = before.session.id if before is not None else ""
            try:
                with self._session(following.resume) as session:
                    is_first, before = before is None, self._begin(session, before)
                    with self._host.signals.obeyed_by(self.obey):
                        if is_first:
                            ready()
                        following = self._work(before)
                    is_kept = session.info.folder is not None and bool(session.messages)
                    self.kept = session.id if is_kept else ""
            except PersonError as error:
                if before is None or following.resume == current:
                    raise
                self._display.warn(use_chat_commands(str(error)))
                following = Next(current)
            finally:
                self._conversation = self._completions = None

    def _session(self, resume: str) -> AbstractContextManager[Session]:
        return self._host.session(interactive=True, output=self._output, resume=resume)

    def submit(self, text: str, pasted: Sequence[str] = ()) -> None:
        """Work on a line, or send it with the next request of the run that works now.

        *pasted* are the parts of it that came from a clipboard. Raises: UsageError if it is empty
        or too long.
        """
        typed = Typed(text.strip(), tuple(pasted))
        if not typed.text:
            raise UsageError("the prompt is empty")
        if len(typed.text) > MAX_PROMPT_CHARS:
            raise UsageError(f"the prompt has more than {MAX_PROMPT_CHARS:,} characters")
        with self._lock:
            is_steering = self._is_working and not waits(typed.text)
            if is_steering:
                self._steering.append(typed.text)
            else:
                if self._is_working:
                    self._entries.say(f"After what runs now: {typed.text}")
                self._inbox.put(typed)
                self._is_working = True
        if is_steering and self._conversation is not None:
            self._conversation.session.steer(typed.text)

    def suggest(self, before: str) -> Mapping[str, Any]:
        """Return the completions of the text *before* the cursor."""
        with self._completing:
            if self._completions is None:
                self._completions = Completions(self._now)
            suggestions: list[Mapping[str, Any]] = []
            for each in self._completions.suggest(before):
                # A text with hidden characters must not be inserted unseen.
                if each.text.isprintable() and len(suggestions) < MAX_SUGGESTIONS:
                    label, meaning = for_terminal(each.label), for_terminal(each.meaning)
                    words = {"text": each.text, "label": label or each.text, "meaning": meaning}
                    suggestions.append({"length": each.length, **words})
        return {"suggestions": suggestions}

    def stop(self) -> None:
        """Stop the current run, and the question of a command."""
        self._stop_by(SIGINT)

    def _stop_by(self, number: int) -> None:
        self._display.stop_asking()
        if self._conversation is not None:
            self._conversation.obey(number)

    def set_mode(self, name: str) -> None:
        """Change how much may be done without asking; raises UsageError for an unknown mode."""
        try:
            mode = Mode(name)
        except ValueError:
            modes = ", ".join(Mode)
            raise UsageError(f"there is no mode {name!r}; the modes are {modes}") from None
        self._now.session.set_mode(mode)
        self._show_state()

    def obey(self, number: int) -> None:
        """Handle a signal: Ctrl-C stops the current run, every other one exits."""
        # Read once: the run may end while it is stopped, and one Ctrl-C must not also exit.
        is_stopping = self._is_working
        if is_stopping:
            self._stop_by(number)
        if number != SIGINT or not is_stopping:
            self._inbox.put(None)
        else:
            self._tell(STOPPED)

    @property
    def _now(self) -> Conversation:
        conversation = self._conversation
        if conversation is None:
            raise UsageError(NOT_OPEN)
        return conversation

    def _begin(self, session: Session, before: Conversation | None) -> Conversation:
        """Show the conversation in *session*, and replace the one *before*."""
        conversation = converse(self._host, session, self._display)
        self._conversation = conversation
        if before is None:
            self._entries.show_messages(session.messages)
        else:
            conversation.take_over(before)
            self._entries.begin_again(session.messages)
        conversation.find_model()  # the state names it
        self._show_state()
        conversation.greet()
        conversation.say_notices()
        return conversation

    def _work(self, conversation: Conversation) -> Next:
        """Work on lines in one session; return how to go on."""
        while (typed := self._inbox.get()) is not None:
            self._show_state()
            self._entries.show_typed(typed.text)
            conversation.ended_well = True  # unless it has a run that does not
            following = respond(conversation, typed)
            if self._host.signals.forget_interrupts():
                break
            self._end_line(conversation)
            if following is not None and following.resume is not None:
                return following
            if following is not None:
                self._display.say(STAYS)
        return Next(None)

    def _end_line(self, conversation: Conversation) -> None:
        """Run the lines that came too late for the last run, unless it failed."""
        with self._lock:
            sent = self._entries.take_steered()
            unsent = "\n\n".join(text for text in self._steering if text not in sent)
            self._steering.clear()
            if unsent and conversation.ended_well:
                self._inbox.put(Typed(unsent))
            self._is_working = not self._inbox.empty()
        if unsent and not conversation.ended_well:
            self._display.warn(f"Not sent, because what ran did not end well: {unsent}")
        self._show_state()

    def _show_state(self) -> None:
        conversation = self._now
        info = conversation.session.info
        self._feed.forget(self._state)
        self._state = self._feed.add(
            "state",
            {
                "working": self._is_working,
                "mode": str(info.mode),
                "modes": [str(mode) for mode in Mode],
                "model": for_terminal(conversation.model or info.model),
                "cwd": for_terminal(str(info.cwd)),
                "session": info.id,
            },
        )
