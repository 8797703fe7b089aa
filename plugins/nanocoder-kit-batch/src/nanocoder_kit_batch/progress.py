"""A batch as it works: one line that changes on a terminal, else one line of JSON an event."""

import json
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from attrs import define, field
from nanocoder import Host, counted, for_terminal, one_line

from nanocoder_kit_batch.running import Watcher
from nanocoder_kit_batch.tally import Tally, failure_of, price_of, reason_of

BAR_CELLS: Final = 20
PAINT_S: Final = 0.1
CLEAR: Final = "\r\x1b[2K"
HOUR_S: Final = 3_600


def watcher_of(host: Host, folder: str) -> Watcher:
    """Return the progress display of a batch with results in *folder*: a bar, or JSON events."""
    return Bar(sys.stdout, host.columns, folder) if host.columns else JsonEvents(sys.stdout)


@define
class JsonEvents:
    """Events for a program: `batch.started`, `task.finished` for each task, `batch.finished`."""

    out: TextIO

    def started(self, total: int, skipped: int, notices: Iterable[str]) -> None:
        """Write the number of tasks."""
        self._write("batch.started", {"tasks": total, "skipped": skipped, "notices": [*notices]})

    def finished(self, result: Mapping[str, Any], tally: Tally) -> None:
        """Write one result, and the counts so far."""
        names = ("id", "stop_reason", "checked", "cost", "seconds", "files_changed", "error")
        row = {name: result[name] for name in names}
        counts = {"done": tally.total, "failed": tally.failed}
        row |= {"denied": result.get("denied", []), "failure": failure_of(result)}
        self._write("task.finished", {**row, **counts})

    def ended(self, tally: Tally, seconds: float, *, interrupted: bool) -> None:
        """Write the figures of all tasks."""
        data = {**tally.data(), "seconds": round(seconds, 3), "interrupted": interrupted}
        self._write("batch.finished", data)

    def _write(self, kind: str, data: Mapping[str, Any]) -> None:
        self.out.write(json.dumps({"type": kind, "at": round(time.time(), 3), **data}) + "\n")
        self.out.flush()


@define
class Bar:
    """A progress bar with rate, cost and failures, and a summary at the end."""

    out: TextIO
    columns: int
    folder: str
    _total: int = 0
    _skipped: int = 0
    _began: float = field(factory=time.monotonic)
    _painted: float = 0.0

    def started(self, total: int, skipped: int, notices: Iterable[str]) -> None:
        """Show the number of tasks."""
        self._total, self._skipped, self._began = total, skipped, time.monotonic()
        for notice in notices:
            self.out.write(f"{for_terminal(notice)}\n")
        if skipped:
            self.out.write(f"{counted(skipped, 'task')} of {total:,} done before\n")
        self._paint(Tally())

    def finished(self, result: Mapping[str, Any], tally: Tally) -> None:
        """Paint the bar again; a failure gets a line of its own above it."""
        if failure := failure_of(result):
            text = f"failed: {result['id']}: {failure} {reason_of(result)}"
            line = one_line(text, self.columns - 1)
            self.out.write(f"{CLEAR}{for_terminal(line)}\n")
            self._painted = 0.0
        if time.monotonic() - self._painted >= PAINT_S:
            self._paint(tally)

    def ended(self, tally: Tally, seconds: float, *, interrupted: bool) -> None:
        """Replace the bar by the figures of all tasks."""
        cost = "cost unknown" if tally.cost is None else price_of(tally.cost)
        state = "interrupted; the same command continues it" if interrupted else "done"
        facts = [f"{tally.solved:,} of {self._total:,} solved", f"{tally.failed:,} failed", cost]
        self.out.write(f"{CLEAR}{', '.join(facts)}, {seconds:.1f} s: {state}\n")
        for failure, count in tally.failures.most_common():
            self.out.write(f"  {count:>6,}  {for_terminal(failure)}\n")
        self.out.write(f"{for_terminal(self.folder)}/summary.html\n")
        self.out.flush()

    def clear(self) -> None:
        """Erase the bar."""
        self.out.write(CLEAR)
        self.out.flush()

    def _paint(self, tally: Tally) -> None:
        self._painted = now = time.monotonic()
        ended = self._skipped + tally.total
        cells = BAR_CELLS * ended // max(1, self._total)
        bar = "#" * cells + "-" * (BAR_CELLS - cells)
        rate = tally.total / max(0.001, now - self._began)
        rest_s = (self._total - ended) / rate if tally.total else 0.0
        cost = f" ${tally.cost:.4f}" if tally.cost else ""
        text = f"[{bar}] {ended:,}/{self._total:,} {rate:.1f}/s {tally.failed:,} failed{cost}"
        text += f" {_duration(rest_s)} left" if rest_s else ""
        self.out.write(CLEAR + text[: self.columns - 1])
        self.out.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{seconds / HOUR_S:.1f} h" if seconds >= HOUR_S else f"{minutes}:{rest:02}"
