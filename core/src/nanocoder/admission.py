"""Who may run now: a slot for each call, one writer at a time for each path, and a queue.

A call that works holds a slot. A composed call only waits for its steps, so it counts apart, and
only where it is not itself a step: those that work never wait for those that wait.
"""

import posixpath
import threading
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from attrs import define, field

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled
from nanocoder.tool import Tool
from nanocoder.values import Effect, Shown

PATH_ARGUMENTS = ("path", "file_path", "source", "destination", "target")
WORKING, COMPOSED = "working", "composed"


@define(eq=False, repr=False)
class Seat(Shown):
    """The place of one call: in the queue, then among those that run. A context manager.

    *position* is its place in the queue when it came, 0 where it need not wait.
    """

    _admission: "Admission"
    crew: str
    paths: frozenset[str]
    position: int = 0
    runs: bool = False
    turn: threading.Event = field(factory=threading.Event)

    def wait(self, cancel: Cancel) -> None:
        """Wait until the call may run; raises Cancelled as soon as *cancel* is set."""
        forget = cancel.on_set(self.turn.set)
        self.turn.wait()
        forget()
        if not self.runs:
            raise Cancelled(cancel.reason or "interrupted")

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

    At most *concurrency* calls work at once.
    """

    def __init__(self, concurrency: int = 8) -> None:
        self._concurrency = concurrency
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._paths: set[str] = set()
        self._queue: list[Seat] = []

    def seat(self, tool: Tool[..., Any], arguments: Mapping[str, Any], depth: int) -> Seat:
        """Return a call's seat; it holds what it needs, or stands in the queue."""
        composed = bool(tool.composed_of)
        writes = Effect.WRITE in tool.effects and not composed
        crew = WORKING if not composed else COMPOSED if depth == 0 else ""
        seat = Seat(self, crew, _paths_of(arguments) if writes else frozenset())
        with self._lock:
            self._queue.append(seat)
            self._admit()
            seat.position = 0 if seat.runs else len(self._queue)
        return seat

    def leave(self, seat: Seat) -> None:
        """Give back what a seat holds, or leave the queue."""
        with self._lock:
            if seat.runs:
                seat.runs = False
                self._running[seat.crew] -= 1
                self._paths -= seat.paths
            elif seat in self._queue:
                self._queue.remove(seat)
            self._admit()

    def _admit(self) -> None:
        taken = set(self._paths)
        for seat in tuple(self._queue):
            is_free = not seat.crew or self._running[seat.crew] < self._concurrency
            if is_free and not seat.paths & taken:
                self._queue.remove(seat)
                self._running[seat.crew] += 1
                self._paths |= seat.paths
                seat.runs = True
                seat.turn.set()
            taken |= seat.paths  # whoever waits for a path comes before those behind it


def _paths_of(arguments: Mapping[str, Any]) -> frozenset[str]:
    values = (arguments.get(name) for name in PATH_ARGUMENTS)
    return frozenset(posixpath.normpath(one) for one in values if isinstance(one, str))
