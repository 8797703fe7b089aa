"""The bounded queue of calls: a slot for each, and one writer at a time for each path.

A working call holds a slot. A composed call only waits for its steps, so it is counted apart, and
only if it is not itself a step: working calls never wait for waiting ones.
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
    """The slot of one call: in the queue, then among the running ones. A context manager.

    *position* is its first position in the queue, 0 if it need not wait.
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
        """Wait until the call may run; return the waiting time in seconds.

        Raises: Cancelled as soon as *cancel* is set.
        """
        if not self.position:
            return 0.0
        # One event for both: a thread can wait for one only.
        forget = cancel.on_set(self.turn.set)
        self.turn.wait()
        forget()
        if not self.runs:
            raise Cancelled(cancel.reason or "interrupted")
        return max(0.0, self._admission.clock() - self.came)

    def __exit__(self, *_error: object) -> None:
        self._admission.leave(self)


class Admission:
    """Admit the calls of one session, first in, first out; methods may be called on any thread.

    At most *limit* calls work at once; at most *waiting* wait for it. *clock* is monotonic, in
    seconds.
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
        """Return a call's slot, admitted or in the queue.

        Paths are those of *session*. Raises: ToolError (busy) if the queue is full.
        """
        composed = bool(tool.composed_of)
        writes = Effect.WRITE in tool.effects and not composed
        # A composed step takes none: its parent has one and could wait for its step for ever.
        kind = WORKING if not composed else "" if is_step else COMPOSED
        # Resolved, because by links two names may be one file.
        named = named_paths(arguments, patterns=False, folders=False) if writes else ()
        paths = frozenset(session.resolve(path).place for path in named)
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
        """Release a slot, or leave the queue."""
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
            claimed |= slot.paths  # a call that waits for a path goes before later ones
