"""Who may run now: a slot for each call, one writer at a time for each path, and a bounded queue.

A call that works holds a slot. A composed call only waits for its steps, so it counts apart, and
only where it is not itself a step: those that work never wait for those that wait.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from attrs import define, field
from nanocoder_files import named_paths
from nanocoder_schema import Shown

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled, TimedOut, ToolError
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect

LIMIT_ARGUMENT = "timeout_"
"""How arguments begin by which a model sets the limit of its own call."""
WORKING, COMPOSED = "working", "composed"

BACKOFF = 0.7
"""What is left of the limit after a sign that too much runs at once."""
LEARNED_CALLS = 4
"""How many calls of a tool are seen before one can be called slow."""
NOISE_S = 0.1
"""A call that takes less than this above what is usual is not slow."""
MEAN_PART, SPREAD_PART, BESIDE_PART = 1 / 8, 1 / 4, 1 / 8
"""How much one call changes what is usual, and how much less one that was slowed by others may."""


@define(eq=False, repr=False)
class Usual(Shown):
    """How long the calls of one tool take, in seconds: their mean and how far they are from it."""

    mean: float = 0.0
    spread: float = 0.0
    calls: int = 0

    def bound(self) -> float:
        """Return what no call exceeds by chance."""
        if self.calls < LEARNED_CALLS:
            return math.inf
        return self.mean + max(4 * self.spread, self.mean, NOISE_S)

    def learn(self, seconds: float, weight: float) -> None:
        """Take one more call into account; the first one is all that is known."""
        if self.calls == 0:
            self.mean = seconds
        off = seconds - self.mean
        weight = 1.0 if off < 0 else weight
        self.spread += (abs(off) - self.spread) * SPREAD_PART * weight
        self.mean += off * MEAN_PART * weight
        self.calls += 1


class Limiter:
    """How many calls may work at once: from 1 to *most*, by what they say about the load.

    It rises by one for each round of calls that took no longer than their tool usually does, and
    falls by a third when one took far longer beside others, or ran into its time limit there: at
    most once for the calls of one round, as TCP does. A call that runs alone is never a reason to
    fall; it teaches what is usual.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(most)
        self._usual: dict[str, Usual] = {}
        self._fell_at = -math.inf

    @property
    def limit(self) -> int:
        """How many calls may work at once now."""
        return max(1, int(self._limit + 1e-9))

    def learn(
        self, tool: str, began: float, ended: float, running_beside: int, *, timed_out: bool = False
    ) -> None:
        """Learn from a call that ran beside others: *running_beside* calls with itself."""
        usual = self._usual.setdefault(tool, Usual())
        seconds = ended - began
        if running_beside > 1 and (timed_out or seconds > usual.bound()):
            if began >= self._fell_at:
                self._limit = max(1.0, min(self._limit, running_beside) * BACKOFF)
                self._fell_at = ended
            return
        if timed_out:
            return
        usual.learn(seconds, BESIDE_PART if running_beside > 1 else 1.0)
        if running_beside >= self.limit:
            self._limit = min(float(self.most), self._limit + 1 / self._limit)


@define(eq=False, repr=False)
class Slot(Shown):
    """The place of one call: in the queue, then among those that run. A context manager.

    *position* is its place in the queue when it came, 0 where it need not wait; *own_limit* tells
    that the call says itself how long it may take.
    """

    _admission: "Admission"
    kind: str
    paths: frozenset[str]
    came: float = 0.0
    position: int = 0
    runs: bool = False
    running_beside: int = 0
    own_limit: bool = False
    turn: threading.Event = field(factory=threading.Event)

    def wait(self, cancel: Cancel) -> float:
        """Wait until the call may run, and return for how many seconds it did.

        Raises: Cancelled as soon as *cancel* is set.
        """
        if not self.position:
            return 0.0
        forget = cancel.on_set(self.turn.set)
        self.turn.wait()
        forget()
        if not self.runs:
            raise Cancelled(cancel.reason or "interrupted")
        return max(0.0, self._admission.clock() - self.came)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._admission.leave(self)


class Admission:
    """Admits the calls of one session, who came first first; methods may be called on any thread.

    At most *concurrency* calls work at once, fewer where they slow each other down; at most
    *waiting* wait for it. *clock* returns seconds and never goes back.
    """

    def __init__(
        self,
        concurrency: int = 8,
        waiting: int = 128,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.limiter = Limiter(concurrency)
        self._waiting = waiting
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._paths: set[str] = set()
        self._queue: list[Slot] = []

    def slot(
        self,
        tool: Tool[..., Any],
        arguments: Mapping[str, Any],
        *,
        is_step: bool,
        session: SessionInfo | None = None,
    ) -> Slot:
        """Return a call's slot; it holds what it needs, or waits in the queue.

        Paths are those of *session*; without one they are relative to the current directory.
        Raises: ToolError (busy) when the queue is full.
        """
        composed = bool(tool.composed_of)
        writes = Effect.WRITE in tool.effects and not composed
        kind = WORKING if not composed else "" if is_step else COMPOSED
        paths = _paths_of(arguments, session) if writes else frozenset()
        slot = Slot(self, kind, paths, self.clock())
        slot.own_limit = any(f"{name}_".startswith(LIMIT_ARGUMENT) for name in arguments)
        with self._lock:
            self._queue.append(slot)
            self._admit()
            if slot.runs:
                return slot
            slot.position = len(self._queue)
            if slot.position > self._waiting:
                self._queue.remove(slot)
                raise _busy(self._waiting)
        return slot

    def leave(self, slot: Slot) -> None:
        """Give back what a slot holds, or leave the queue."""
        with self._lock:
            if slot.runs:
                slot.runs = False
                self._running[slot.kind] -= 1
                self._paths -= slot.paths
            elif slot in self._queue:
                self._queue.remove(slot)
            self._admit()

    def learn(self, slot: Slot, tool: str, seconds: float, error_class: str) -> None:
        """Take into account how long the handler of a seated call ran.

        What failed, was interrupted, ran into a limit of its own choice, or only waited for its
        steps says nothing about the load.
        """
        timed_out = error_class == TimedOut.error_class
        if slot.kind != WORKING or (error_class and not timed_out):
            return
        if timed_out and slot.own_limit:
            return
        with self._lock:
            running_beside = max(slot.running_beside, self._running[WORKING])
            ended = self.clock()
            self.limiter.learn(tool, ended - seconds, ended, running_beside, timed_out=timed_out)

    def _admit(self) -> None:
        taken = set(self._paths)
        for slot in tuple(self._queue):
            if self._has_room(slot.kind) and not slot.paths & taken:
                self._queue.remove(slot)
                self._running[slot.kind] += 1
                self._paths |= slot.paths
                slot.running_beside = self._running[slot.kind]
                slot.runs = True
                slot.turn.set()
            taken |= slot.paths  # whoever waits for a path comes before those behind it

    def _has_room(self, kind: str) -> bool:
        limit = self.limiter.limit if kind == WORKING else self.limiter.most
        return not kind or self._running[kind] < limit


def _busy(waiting: int) -> ToolError:
    said = f"busy: {waiting} calls are waiting; send fewer at once"
    return ToolError(said, error_class="busy", data={"waiting": waiting})


def _paths_of(arguments: Mapping[str, Any], session: SessionInfo | None) -> frozenset[str]:
    """Return the real places of the paths among *arguments*: links lead two names to one file."""
    session = session or SessionInfo("", Path.cwd())
    paths = named_paths(arguments, patterns=False, folders=False)
    return frozenset(session.resolve(path).place for path in paths)
