"""A journal that is compared with a recorded one, record by record, as a session is replayed."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import evolve
from nanocoder_kit_files.redact import Redactor
from nanocoder_kit_sessions import MemoryJournal, Record
from nanocoder_kit_sessions.redaction import without_secrets

from nanocoder_provider_replay.recording import VARYING, Recording, diff_of, is_equal, of_runs

COMPARED: Final = (
    *("run.started", "message", "call.started", "call.approved", "call.edited", "call.denied"),
    *("call.rewritten", "call.finished", "run.finished"),
)
"""Kinds of records that a replay repeats; the others are about the process that opened the session,
warnings of the configuration, and changed files."""
REPEATED_ENDS: Final = frozenset(("done", "approval_needed", "denied", "loop"))
"""Stop reasons that a replay repeats: none by a user, a signal, a limit or a failed provider."""
VOLATILE: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "message": (("usage",), ("attachments",), ("results",)),
    "call.finished": (
        *(("result", name) for name in ("ran_ms", "duration_ms", "asked_ms", "queued_ms")),
        *(("result", name) for name in ("stages", "running_beside", "artifact", "attachments")),
        *(("result", "metadata", name) for name in ("queued_ms", "tmp_dir")),
    ),
    "run.finished": (("model",), ("usage",), ("cost",), ("signal",), ("answer",)),
}
"""Fields copied from the recording: durations, tokens, paths of long outputs, and the parsed
answer of `run --schema`, whose schema is not part of a recording."""


class ReplayJournal(MemoryJournal):
    """The journal of a replay: ids and clock are the recording's, and so is the order.

    *divergence* names the first record that is not the recorded one, with a diff; "" if all are.
    """

    def __init__(self, recording: Recording, may_differ: Sequence[str]) -> None:
        super().__init__(recording.session)
        self.divergence = ""
        self._recording = recording
        self._may_differ = (*VARYING, *may_differ)
        self._expected = list(expected(recording.records))
        self._places = {key: index for index, (key, _) in enumerate(self._expected)}
        self._counts = Counter[tuple[str, str]]()
        self._played = dict[int, Record]()
        self._others = list[Record]()
        self._redactor = Redactor()
        self._at = float(recording.records[0]["at"]) if recording.records else 0.0
        self.is_over = False

    def append(
        self, kind: str, data: Mapping[str, Any], *, sync: bool = False, is_use: bool = True
    ) -> int:
        """Compare one record and store it with the time of the recorded one."""
        del is_use  # the clock is the recording's
        with self._lock:
            return self._append(kind, data, sync=sync)

    def finish(self) -> None:
        """Name the first record that did not happen, if nothing else differed before."""
        for index, (_, record) in enumerate(self._expected):
            if index not in self._played and not self.is_over:
                self._diverged(index, f"{_name(record)} did not happen", record, None)

    def compared(self) -> Sequence[Record]:
        """Return the records that were compared, in the order of the recording."""
        ordered = [self._played[index] for index in sorted(self._played)] + self._others
        return [evolve(record, seq=seq) for seq, record in enumerate(ordered, 1)]

    def _store(self, record: Record, *, sync: bool) -> None:
        super()._store(record, sync=sync)
        if record.kind not in COMPARED or self.is_over:
            return
        new = Record.of_line(bytes(without_secrets(record, self._redactor).line())) or record
        name = new.kind, str(new.data.get("call_id", ""))
        index = self._places.get((*name, self._counts[name]))
        self._counts[name] += 1
        if index is None:
            self._others.append(new)
            self._unexpected(new)
            return
        recorded = self._expected[index][1]
        self._at = max(self._at, recorded.at)
        data = _with_volatile(new.data, recorded)
        # The same in every byte, also in the order of the fields.
        data = recorded.data if data == recorded.data else data
        new = evolve(new, at=recorded.at, data=data)
        self._played[index] = new
        if new.kind == "run.finished" and recorded.data.get("stop_reason") not in REPEATED_ENDS:
            self._played[index], self.is_over = recorded, True  # ended from outside
            return
        for path, old, now in _leaves(recorded.data, new.data):
            if not is_equal(_text(old), _text(now), self._recording.cwd, self._may_differ):
                self._diverged(index, f"{_name(recorded)} differs in {path}", old, now)
                return

    def _unexpected(self, new: Record) -> None:
        recorded = next(
            (row for row in enumerate(self._expected) if row[0] not in self._played), None
        )
        if recorded is None:
            index, record = len(self._expected), None
        else:
            index, (_, record) = recorded
        if record is not None and record.kind == "run.finished" and not _repeats(record):
            self.is_over = True  # the recorded session was stopped here
            return
        self._diverged(index, f"the recording has no {_name(new)} there", record, new)

    def _diverged(self, index: int, problem: str, old: object, new: object) -> None:
        where = f"record {index + 1} of {len(self._expected)}"
        self.divergence = self.divergence or (
            f"the replay of session {self.id} diverges at {where}: {problem}:\n"
            + diff_of(_text(old), _text(new))
        )


def expected(
    records: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[tuple[str, str, int], Record]]:
    """Yield the records that a replay repeats, each with its kind, call and how often before.

    The steps of a composed call are not among them, as the result of the whole is played, nor are
    calls between runs.
    """
    counts, steps = Counter[tuple[str, str]](), set[str]()
    for row in of_runs(records):
        kind, data = row["kind"], row["data"]
        call = str(data.get("call_id", ""))
        if data.get("parent"):
            steps.add(call)
        if kind not in COMPARED or call in steps:
            continue
        name = kind, call
        yield (*name, counts[name]), Record(1, kind, float(row["at"]), data, row.get("turn", 0))
        counts[name] += 1


def _repeats(record: Record) -> bool:
    return record.data.get("stop_reason") in REPEATED_ENDS


def _name(record: Record) -> str:
    call = record.data.get("call_id")
    tool = record.data.get("tool") or record.data.get("role") or ""
    return " ".join(map(str, filter(None, (record.kind, tool, call and f"({call})"))))


def _with_volatile(data: Mapping[str, Any], recorded: Record) -> Mapping[str, Any]:
    """Return *data* with the volatile fields of the recorded one."""
    for path in VOLATILE.get(recorded.kind, ()):
        data = _with_field(data, recorded.data, path)
    return data


def _with_field(data: Any, then: Any, path: Sequence[str]) -> Any:
    if not isinstance(data, dict) or not isinstance(then, dict):
        return data
    name, *rest = path
    if rest:
        return {**data, name: _with_field(data.get(name), then.get(name), rest)}
    others = {key: value for key, value in data.items() if key != name}
    return {**others, name: then[name]} if name in then else others


def _leaves(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each pair of leaf values, with its path; errors first."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield path or "its data", old, new
        return
    for name in sorted({*old, *new}, key=lambda name: (name != "error", name)):
        where = f"{path}.{name}" if path else name
        yield from _leaves(old.get(name), new.get(name), where)


def _text(value: object) -> str:
    if isinstance(value, Record):
        value = {"kind": value.kind, **value.data}
    if value is None or isinstance(value, str):
        return value or ""
    with suppress(TypeError, ValueError):
        return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    return repr(value)
