"""The queue of calls: a slot for each, one writer at a time for each path, and a bound.

A call that works holds a slot. A composed call only waits for its steps, so it counts apart, and
only where it is not itself a step: those that work never wait for those that wait.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from attrs import field
from nanocoder_files import named_paths
from nanocoder_schema import ToolError, mutable

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled
from nanocoder.tools.session_info import CallLimit, SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect

WORKING, COMPOSED = "working", "composed"


@mutable
class Slot(AbstractContextManager["Slot"]):
    """The place of one call: in the queue, then among those that run. A context manager.

    *position* is its place in the queue when it came, 0 where it need not wait.
    """

    _admission: "Admission"
    kind: str
    paths: frozenset[str]
    came: float = 0.0
    position: int = 0
    runs: bool = False
    running_beside: int = 0
    turn: threading.Event = field(factory=threading.Event)

    def wait(self, cancel: Cancel) -> float:
        """Wait until the call may run, and return for how many seconds it did.

        Raises: Cancelled as soon as *cancel* is set.
        """
        if not self.position:
            return 0.0
        # One event for both: a thread can wait for one thing only.
        forget = cancel.on_set(self.turn.set)
        self.turn.wait()
        forget()
        if not self.runs:
            raise Cancelled(cancel.reason or "interrupted")
        return max(0.0, self._admission.clock() - self.came)

    def __exit__(self, *_error: object) -> None:
        self._admission.leave(self)


class Admission:
    """Admits the calls of one session, who came first first; methods may be called on any thread.

    At most as many as *limit* says work at once; at most *waiting* wait for it. *clock* returns
    seconds and never goes back.
    """

    def __init__(
        self,
        limit: CallLimit | None = None,
        waiting: int = 128,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.limit = limit or CallLimit()
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
        session: SessionInfo,
    ) -> Slot:
        """Return a call's slot; it holds what it needs, or waits in the queue.

        Paths are those of *session*. Raises: ToolError (busy) when the queue is full.
        """
        composed = bool(tool.composed_of)
        writes = Effect.WRITE in tool.effects and not composed
        # A step takes no such place: its parent has one, and could wait for its step for ever.
        kind = WORKING if not composed else "" if is_step else COMPOSED
        paths = _paths_of(arguments, session) if writes else frozenset()
        slot = Slot(self, kind, paths, self.clock())
        with self._lock:
            self._queue.append(slot)
            self._admit()
            if slot.runs:
                return slot
            slot.position = len(self._queue)
            if slot.position > self._waiting:
                self._queue.remove(slot)
                message = f"busy: {self._waiting} calls are waiting; send fewer at once"
                raise ToolError(message, error_class="busy", data={"waiting": self._waiting})
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

    def running_beside(self, slot: Slot) -> int:
        """Return the number of calls that worked beside the call of *slot*, including itself.

        0 for a call that only waits for its steps.
        """
        return max(slot.running_beside, self._running[WORKING]) if slot.kind == WORKING else 0

    def _admit(self) -> None:
        claimed = set(self._paths)
        for slot in tuple(self._queue):
            limit = self.limit.current if slot.kind == WORKING else self.limit.most
            has_room = not slot.kind or self._running[slot.kind] < limit
            if has_room and not slot.paths & claimed:
                self._queue.remove(slot)
                self._running[slot.kind] += 1
                self._paths |= slot.paths
                slot.running_beside = self._running[slot.kind]
                slot.runs = True
                slot.turn.set()
            claimed |= slot.paths  # a call that waits for a path comes before those behind it


def _paths_of(arguments: Mapping[str, Any], session: SessionInfo) -> frozenset[str]:
    """Return the real places of the paths among *arguments*: links lead two names to one file."""
    paths = named_paths(arguments, patterns=False, folders=False)
    return frozenset(session.resolve(path).place for path in paths)
