"""The way from the hook to the collector: a bounded queue and one thread behind it."""

import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from nanocoder import Event, SessionInfo

from nanocoder_telemetry_otel.settings import Settings

if TYPE_CHECKING:
    from nanocoder_telemetry_otel.exporting import Exporting

QUEUE_EVENTS: Final = 10_000
SEND_S: Final = 5.0
"""Interval at which finished spans and measurements are sent, in seconds."""
CLOSE_S: Final = 3.0
"""Timeout of the last send at the end of a session, in seconds."""

Item = tuple[Event, SessionInfo]


class Pipeline:
    """Accepts events from any thread; one worker thread records and sends them.

    `dropped` counts the events dropped by a full queue.
    """

    def __init__(self, settings: Settings) -> None:
        self.dropped = 0
        self._settings = settings
        self._items: queue.Queue[Item | None] = queue.Queue(QUEUE_EVENTS)
        self._problem = ""
        self._is_reported = False
        self._thread = threading.Thread(target=self._work, name="telemetry-otel", daemon=True)
        self._thread.start()

    def put(self, event: Event, session: SessionInfo) -> None:
        """Queue an event without waiting; raises ConnectionError once if nothing can be sent."""
        try:
            self._items.put_nowait((event, session))
        except queue.Full:
            self.dropped += 1
        if self._problem and not self._is_reported:
            self._is_reported = True
            raise ConnectionError(self._problem)

    def close(self) -> None:
        """Send the rest, for a limited time.

        Raises ConnectionError if that failed, unless an event of the session has raised it.
        """
        self._items.put(None, timeout=CLOSE_S) if not self._items.full() else None
        self._thread.join(CLOSE_S)
        problem = self._problem
        if not problem and self._thread.is_alive():
            problem = f"the collector at {self._settings.address} took not all within {CLOSE_S:g} s"
        if problem and not self._is_reported:
            self._is_reported = True
            raise ConnectionError(f"{problem}; what was not sent is lost")

    def _work(self) -> None:
        try:
            from nanocoder_telemetry_otel.exporting import Exporting

            exporting = Exporting(self._settings)
        except Exception as error:  # noqa: BLE001 - the thread must not end in a traceback
            self._problem = f"telemetry is off: {error}"
            return
        try:
            self._handle_all(exporting)
        finally:
            exporting.close()

    def _handle_all(self, exporting: "Exporting") -> None:
        due = time.monotonic() + SEND_S
        is_open = True
        while is_open:
            try:
                item = self._items.get(timeout=max(0.0, due - time.monotonic()))
                is_open = item is not None
                if item is not None:
                    exporting.handle(*item)
            except queue.Empty:
                pass
            if not is_open or time.monotonic() >= due or exporting.is_full:
                exporting.count_dropped(self.dropped)
                self._problem = exporting.send() or self._problem
                due = time.monotonic() + SEND_S


class Lease:
    """One session's reference to the pipeline of its settings; closing the last one ends it."""

    def __init__(self, settings: Settings, pipeline: Pipeline) -> None:
        self.put = pipeline.put
        self._settings = settings
        self._pipeline = pipeline

    def close(self) -> None:
        """Give the share back."""
        with _lock:
            pipeline, count = _shared[self._settings]
            if count > 1:
                _shared[self._settings] = pipeline, count - 1
                return
            del _shared[self._settings]
        pipeline.close()


_lock = threading.Lock()
_shared: dict[Settings, tuple[Pipeline, int]] = {}


def lease(settings: Settings) -> Any:
    """Return a share of the pipeline for *settings*; sub-agents and parallel sessions have one."""
    with _lock:
        pipeline, count = _shared.get(settings) or (Pipeline(settings), 0)
        _shared[settings] = pipeline, count + 1
        return Lease(settings, pipeline)
