"""A handler on another thread, whose events reach the waiting thread by a queue.

A timeout or a Ctrl-C never waits for a handler, so each has its own thread and sends messages to an
inbox. A step of a composed call runs on its parent's thread; each event of it is forwarded and
acknowledged, so that the journal has it, and a person has been asked, before the step continues.
"""

import queue
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

from attrs import field
from nanocoder_schema import mutable

from nanocoder.cancel import Cancel, Outcome, ReusedThread, outcome_of, start_on_thread
from nanocoder.errors import Cancelled, TimedOut
from nanocoder.values import ApprovalAnswer, ApprovalRequest, Event, Question

T = TypeVar("T")

GRACE_S = 1.0
"""Seconds that a cancelled handler may take to end by itself before it is abandoned."""


@mutable
class Ask:
    """A request to the person, sent to the thread that can ask them.

    It is passed on like an event and comes back with an answer; a text in place of an approval
    is the reason why there is none. *event* announces it, when the person is asked.
    """

    request: ApprovalRequest | Question
    event: Event
    answer: ApprovalAnswer | str | None = None


Emitted = Event | Ask
Steps = Generator[Emitted, None, None]


@mutable
class _Forward:
    item: Emitted
    is_taken: threading.Event = field(factory=threading.Event)


class Worker:
    """One piece of work on its thread; `events` starts it and waits for it."""

    def __init__(self, cancel: Cancel) -> None:
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._cancel = cancel
        # Set when no thread waits for this work any more.
        self._over = threading.Event()
        self._began = self._ended = self._asked_s = 0.0
        self.thread: threading.Thread | None = None

    @property
    def ran_s(self) -> float:
        """The seconds that the work has run, without the time of waiting for a person."""
        ended = self._ended or time.perf_counter()
        return max(0.0, ended - self._began - self._asked_s) if self._began else 0.0

    @property
    def is_left_behind(self) -> bool:
        """Return True if the work was abandoned: it goes on although it was cancelled."""
        return self.thread is not None and not self._ended and self._cancel.is_set()

    def emit(self, event: Event) -> None:
        """Send an event to the waiting thread; called on any thread."""
        # An abandoned handler may emit for ever, and nothing reads that.
        if not self._over.is_set():
            self._inbox.put(_Forward(event))

    def run_steps(self, steps: Generator[Emitted, None, T]) -> T:
        """Run *steps* on the calling thread, forward their events and return their result.

        Raises: Cancelled if this work is over, or was cancelled while a person was asked.
        """
        with closing(steps):
            while True:
                try:
                    item = next(steps)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                self._forward(item)

    def _forward(self, item: Emitted) -> None:
        message = _Forward(item)
        began = time.perf_counter()
        self._inbox.put(message)
        # Once the waiting thread has gone, nothing acknowledges any more.
        forget = self._cancel.on_set(lambda: threading.Timer(GRACE_S, message.is_taken.set).start())
        # The waiting thread may have gone before the message came, so this is checked regularly.
        while not message.is_taken.wait(GRACE_S):
            if self._over.is_set():
                raise Cancelled("the call that this one is a step of has ended")
        forget()
        if isinstance(item, Ask):
            self._asked_s += time.perf_counter() - began
            if self._cancel.is_set() and item.answer is None:
                raise Cancelled(self._cancel.reason)

    def events(
        self,
        work: Callable[[], Any],
        limit_s: float,
        name: str,
        rescue: Callable[[BaseException], Any] | None = None,
    ) -> Generator[Emitted, None, Any]:
        """Start *work*, yield its events, and return its result; an exception is raised here.

        *rescue* turns its exception into a value, on the same thread. *name* is for messages.
        Raises: TimedOut after *limit_s* seconds (0: no limit), Cancelled if it was cancelled and
        the work did not end by itself.
        """
        # None means that the work was cancelled. It uses the same inbox, because a thread can wait
        # for one queue only.
        forget = self._cancel.on_set(lambda: self._inbox.put(None))
        deadline = time.monotonic() + limit_s if limit_s else None
        self.thread = start_on_thread(partial(self._run, work, rescue))
        is_overdue = False
        try:
            while True:
                try:
                    left_s = deadline and max(0.0, deadline - time.monotonic())
                    message = self._inbox.get(timeout=left_s)
                except queue.Empty:
                    if is_overdue:
                        raise self._abandoned(limit_s, name) from None
                    # The handler may end by itself within the grace time, with its own result.
                    self._cancel.set("timeout")  # this wakes us
                    continue
                if message is None:
                    is_overdue, deadline = True, time.monotonic() + GRACE_S
                elif isinstance(message, tuple):
                    return self._value(message, limit_s, name)
                else:
                    yield message.item
                    # Only now: the consumer has resumed, so the journal has the event.
                    message.is_taken.set()
        except GeneratorExit:
            # The program stopped reading the session's events: nothing would use a result.
            self._cancel.set("abandoned")
            raise
        finally:
            forget()
            self._over.set()

    def _run(
        self,
        work: Callable[[], Any],
        rescue: Callable[[BaseException], Any] | None,
        thread: ReusedThread,
    ) -> bool:
        self._began = time.perf_counter()
        try:
            # The thread is reused: no call may see an earlier call's context variables.
            outcome: Outcome[Any] = Context().run(work), None
        except BaseException as error:  # noqa: BLE001 - raised again on the waiting thread
            # Here, within the limit: a plugin's exception may hang when it is formatted.
            outcome = outcome_of(partial(rescue, error)) if rescue else (None, error)
        self._ended = time.perf_counter()
        # The thread of abandoned work ends with it: the end of the session waits for it.
        if is_awaited := not self._over.is_set():
            thread.rest()
        self._inbox.put(outcome)
        return is_awaited

    def _value(self, outcome: Outcome[Any], limit_s: float, name: str) -> Any:
        value, error = outcome
        if error is not None:
            raise error
        # A handler that ended after the timeout, with only Cancelled.
        is_cancelled = getattr(value, "error_class", "") == Cancelled.error_class
        if is_cancelled and self._cancel.reason == "timeout":
            raise self._abandoned(limit_s, name)
        return value

    def _abandoned(self, limit_s: float, name: str) -> Exception:
        if self._cancel.reason == "timeout":
            message = f"{name} took longer than {limit_s:g} s and was ended"
            return TimedOut(message, data={"limit_s": limit_s})
        return Cancelled(f"{name} was interrupted")


def inquiry(question: Question) -> Generator[Emitted, None, str | None]:
    """Send a tool's question to the person and return the answer."""
    data = {"question": question.text, "choices": list(question.choices)}
    item = Ask(question, Event("call.asked", data, question.call_id))
    yield item
    answer = item.answer if isinstance(item.answer, str) else None
    yield Event("call.answered", {"answer": answer}, question.call_id)
    return answer
