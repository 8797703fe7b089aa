"""A handler on another thread, and the way of its events to the thread that waits.

A limit or a Ctrl-C never waits for a handler, so each runs on a thread and speaks through an inbox.
A step of a composed call is taken on its parent's thread; everything that it yields is forwarded
and acknowledged, so that the journal has it, and a person has been asked, before the step goes on.
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

from nanocoder.cancel import Cancel, Outcome, ReusedThread, outcome_of, start
from nanocoder.errors import Cancelled, TimedOut
from nanocoder.values import ApprovalAnswer, ApprovalRequest, Event, Question

T = TypeVar("T")

GRACE_S = 1.0
"""Seconds that a cancelled handler may take to end by itself before it is abandoned."""


@mutable
class Ask:
    """A request to the person, on its way to the thread that can put it to them.

    It travels like an event and comes back answered; a text in place of an approval says why there
    is none. *event* announces it: yielded when the person is asked, never while another is.
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
        # Set when nothing waits for this work any more.
        self._over = threading.Event()
        self._began = self._ended = self._asked_s = 0.0
        self.thread: threading.Thread | None = None

    @property
    def ran_s(self) -> float:
        """For how long the work has run, in seconds, without waiting for a person."""
        ended = self._ended or time.perf_counter()
        return max(0.0, ended - self._began - self._asked_s) if self._began else 0.0

    @property
    def is_left_behind(self) -> bool:
        """Tell whether the work goes on although it was told to stop."""
        return self.thread is not None and not self._ended and self._cancel.is_set()

    def emit(self, event: Event) -> None:
        """Pass an event to the waiting side; called on any thread."""
        # A handler that was left behind may speak for ever, and nothing takes it.
        if not self._over.is_set():
            self._inbox.put(_Forward(event))

    def run_steps(self, steps: Generator[Emitted, None, T]) -> T:
        """Take *steps* on the calling thread, forward what they yield, return what they return.

        Raises: Cancelled when this work is over, or was cancelled while a person was asked.
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
        # Once the waiting side has gone, nothing acknowledges any more.
        forget = self._cancel.on_set(lambda: threading.Timer(GRACE_S, message.is_taken.set).start())
        # The waiting side may have gone before the message came, so it is looked for now and then.
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
        """Start *work*, yield what it emits, and return what it returns, or raise what it raises.

        *rescue* makes a value of what it raises, on the same thread. *name* is for messages.
        Raises: TimedOut after *limit_s* seconds (0: no limit), Cancelled when cancelled and the
        work did not end by itself.
        """
        # None says that the work was cancelled. It comes into the same inbox: a thread can wait for
        # one thing only, and must miss neither.
        forget = self._cancel.on_set(lambda: self._inbox.put(None))
        deadline = time.monotonic() + limit_s if limit_s else None
        self.thread = start(partial(self._run, work, rescue))
        is_overdue = False
        try:
            while True:
                try:
                    left_s = deadline and max(0.0, deadline - time.monotonic())
                    message = self._inbox.get(timeout=left_s)
                except queue.Empty:
                    if is_overdue:
                        raise self._abandoned(limit_s, name) from None
                    # The handler may end by itself within its grace, and then has a result of its
                    # own.
                    self._cancel.set("timeout")  # this wakes us
                    continue
                if message is None:
                    is_overdue, deadline = True, time.monotonic() + GRACE_S
                elif isinstance(message, tuple):
                    return self._value(message, limit_s, name)
                else:
                    yield message.item
                    # Only now: the consumer came back, so the journal has the event.
                    message.is_taken.set()
        except GeneratorExit:
            # The program stopped reading the session's events: nothing would take a result.
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
            # The thread is used again: no call may see what an earlier one has set.
            outcome: Outcome[Any] = Context().run(work), None
        except BaseException as error:  # noqa: BLE001 - raised again on the waiting side
            # Here, where the limit counts: a plugin's error may hang when it says what it is.
            outcome = outcome_of(partial(rescue, error)) if rescue else (None, error)
        self._ended = time.perf_counter()
        # The thread of work that was left behind ends: the end of the session waits for it.
        if is_awaited := not self._over.is_set():
            thread.rest()
        self._inbox.put(outcome)
        return is_awaited

    def _value(self, outcome: Outcome[Any], limit_s: float, name: str) -> Any:
        value, error = outcome
        if error is not None:
            raise error
        # A handler that ended over its limit, with no more to say than that it was cancelled.
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
    """Put a tool's question on its way to the person and return the answer."""
    data = {"question": question.text, "choices": list(question.choices)}
    item = Ask(question, Event("call.asked", data, question.call_id))
    yield item
    answer = item.answer if isinstance(item.answer, str) else None
    yield Event("call.answered", {"answer": answer}, question.call_id)
    return answer
