"""Handlers on threads of their own, and the way of what they say to the one who waits.

A limit or a Ctrl-C never waits for a handler, so each runs on a thread and speaks through an inbox.
A step of a composed call is taken on its parent's thread; everything that it yields is forwarded
and acknowledged, so that the journal has it, and a person has been asked, before the step goes on.
"""

import queue
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, evolve, field
from nanocoder_schema import Shown

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled, TimedOut
from nanocoder.path.approval import Ask
from nanocoder.tools.tool import Tool
from nanocoder.values import Event, Question, ToolCall, ToolResult

T = TypeVar("T")
Emitted = Event | Ask

GRACE_S = 1.0
"""How long a cancelled handler may take to end by itself before it is left behind."""


@define(eq=False, repr=False)
class _Returned(Shown):
    value: Any


@define(eq=False, repr=False)
class _Forward(Shown):
    item: Emitted
    seen: threading.Event = field(factory=threading.Event)


class _Woken:
    """Put into an inbox when its handler was cancelled."""


class TmpDir:
    """A call's private directory: made at first use, removed at the call's end unless *kept*."""

    def __init__(self, *, kept: bool = False) -> None:
        self._path: Path | None = None
        self._kept = kept

    def path(self) -> Path:
        """Return the directory, making it."""
        if self._path is None:
            import tempfile

            self._path = Path(tempfile.mkdtemp(prefix="nanocoder-"))
        return self._path

    def told(self, result: ToolResult) -> ToolResult:
        """Return *result*, which says where the directory is if that is kept."""
        if self._path is None or not self._kept:
            return result
        return evolve(result, metadata={**result.metadata, "tmp_dir": str(self._path)})

    def clean(self) -> None:
        """Remove it, unless it is kept."""
        if self._path is not None and not self._kept:
            import shutil

            shutil.rmtree(self._path, ignore_errors=True)


class Worker:
    """One piece of work on its thread; `outcome` waits for it."""

    def __init__(self, work: Callable[["Worker"], Any], cancel: Cancel) -> None:
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._cancel = cancel
        self._work = work
        self._over = threading.Event()
        self._began = self._ended = self._asked_s = 0.0
        self.thread = threading.Thread(target=self._run, name="nanocoder-call", daemon=True)

    def ran_s(self) -> float:
        """Return for how long the work has run, in seconds, without waiting for a person."""
        ended = self._ended or time.perf_counter()
        return max(0.0, ended - self._began - self._asked_s) if self._began else 0.0

    def emit(self, event: Event) -> None:
        """Let the waiting side know; called on any thread."""
        self._inbox.put(event)

    def run_steps(self, steps: Generator[Emitted, None, T]) -> T:
        """Take *steps* on the calling thread, forwarding what they yield.

        Returns what they return.
        """
        while True:
            try:
                item = next(steps)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            self._forward(item, steps)

    def _forward(self, item: Emitted, steps: Generator[Emitted, None, Any]) -> None:
        message = _Forward(item)
        began = time.perf_counter()
        self._inbox.put(message)
        # Nobody acknowledges any more once the waiting side has gone.
        forget = self._cancel.on_set(lambda: threading.Timer(GRACE_S, message.seen.set).start())
        while not message.seen.wait(GRACE_S):
            if self._over.is_set():
                steps.close()
                raise Cancelled("the call that this one is a step of has ended")
        forget()
        if isinstance(item, Ask):
            self._asked_s += time.perf_counter() - began
        if self._cancel.is_set() and isinstance(item, Ask) and item.answer is None:
            steps.close()
            raise Cancelled(self._cancel.reason)

    def outcome(self, limit_s: float, what: str) -> Generator[Emitted, None, Any]:
        """Start the work, yield what it says, and return what it returns, or raise what it raised.

        Raises: TimedOut after *limit_s* seconds (0: no limit), Cancelled when cancelled and the
        work did not end by itself.
        """
        forget = self._cancel.on_set(lambda: self._inbox.put(_Woken()))
        deadline = time.monotonic() + limit_s if limit_s else None
        self.thread.start()
        try:
            return (yield from self._events(deadline, limit_s, what))
        except GeneratorExit:
            self._cancel.set("abandoned")
            raise
        finally:
            forget()
            self._over.set()

    def _events(
        self, deadline: float | None, limit_s: float, what: str
    ) -> Generator[Emitted, None, Any]:
        overdue = False
        while True:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                message = self._inbox.get(timeout=wait)
            except queue.Empty:
                if overdue:
                    raise self._abandoned(limit_s, what) from None
                overdue, deadline = True, time.monotonic() + GRACE_S
                self._cancel.set("timeout")
                continue
            if isinstance(message, _Woken):
                overdue = True
                deadline = min(deadline or float("inf"), time.monotonic() + GRACE_S)
            elif isinstance(message, _Returned):
                if self._gave_up(message.value):
                    raise self._abandoned(limit_s, what)
                return message.value
            elif isinstance(message, BaseException):
                raise message
            else:
                yield from _passed_on(message)

    def _gave_up(self, value: Any) -> bool:
        """Tell whether a handler ended over its limit, with no more to say than that."""
        late = self._cancel.reason == "timeout"
        return late and getattr(value, "error_class", "") == Cancelled.error_class

    def _abandoned(self, limit_s: float, what: str) -> Exception:
        if self._cancel.reason == "timeout":
            said = f"{what} took longer than {limit_s:g} s and was ended"
            return TimedOut(said, data={"limit_s": limit_s})
        return Cancelled(f"{what} was interrupted")

    def _run(self) -> None:
        self._began = time.perf_counter()
        outcome: Any
        try:
            outcome = _Returned(self._work(self))
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it again
            outcome = error
        self._ended = time.perf_counter()
        self._inbox.put(outcome)


@define(eq=False, repr=False)
class Caller(Shown):
    """A call that runs now, as what it opens inside the session is told of it."""

    tool: Tool[..., Any]
    call: ToolCall
    cancel: Cancel
    running: Worker


def _passed_on(message: Any) -> Generator[Emitted, None, None]:
    if isinstance(message, _Forward):
        yield message.item
        message.seen.set()
    else:
        yield message


def inquiry(question: Question) -> Generator[Emitted, None, str | None]:
    """Put a tool's question on its way to the person and return the answer."""
    asked = {"question": question.text, "choices": list(question.choices)}
    item = Ask(question, Event("call.asked", asked, question.call_id))
    yield item
    answer = item.answer if isinstance(item.answer, str) else None
    yield Event("call.answered", {"answer": answer}, question.call_id)
    return answer
