"""The six stages of one call, rebuilt from the records that the journal has of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import asdict, evolve, frozen
from nanocoder import UsageError, did_you_mean
from nanocoder_kit_sessions import Record

STAGES: Final = ("bootstrap", "input", "policy", "execution", "output", "telemetry")
OK, FAILED, NOT_REACHED, UNKNOWN = "ok", "failed", "not reached", "unknown"
DENIED = "denied"
REFUSALS = ("denied", "approval_needed")
"""Error classes of a successful policy stage: a rule or a person denied the call."""
ANSWERS: Final = frozenset({"call.approved", "call.edited"})
ROW_WITH_ERROR: Final = 4
"""A row of the journal is name, begin and duration, then the error class if the stage failed."""


@frozen
class Stage:
    """One stage: its *status*, its start after the call's arrival, and its duration, in ms.

    Times are None if they were not recorded.
    """

    name: str
    status: str
    at_ms: float | None = None
    ms: float | None = None
    error_class: str = ""
    note: str = ""

    def data(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        data = asdict(self)
        return {"stage": data.pop("name"), **data}


@frozen
class Trace:
    """One call: *status* is ok, denied, approval_needed, error, or unfinished."""

    call_id: str
    tool: str
    status: str
    at: float
    stages: tuple[Stage, ...]


def trace(records: Sequence[Record], call_id: str) -> Trace:
    """Trace the call *call_id*, or the "last" one, in the records of its session.

    Raises: UsageError (call_not_found).
    """
    ids = [name for record in records if (name := _call_of(record))]
    name = ids[-1] if ids and call_id == "last" else call_id
    if name not in ids:
        raise _no_such_call(call_id, ids, records)
    own: list[Record] = []
    for record in (record for record in records if _call_of(record) == name):
        # An ID may recur in a resumed session: its last call is traced.
        is_new = record.kind != "telemetry.failed"
        if is_new and any(earlier.kind == "call.finished" for earlier in own):
            own = []
        own.append(record)
    return _traced(name, own, records[0])


def _no_such_call(call_id: str, ids: Sequence[str], records: Sequence[Record]) -> UsageError:
    origin = records[0].data.get("forked_from", "") if records else ""
    hint = did_you_mean(call_id, set(ids))
    if origin and not hint:
        hint = f"; it is a fork: earlier calls are in {origin}"
    what = f"the session has no call {call_id!r}" if ids else "no call was made in the session"
    return UsageError(f"{what}{hint}", error_class="call_not_found")


def _call_of(record: Record) -> str:
    call_id = record.data.get("call_id", "")
    return call_id if isinstance(call_id, str) else ""


def _traced(call_id: str, own: Sequence[Record], first: Record) -> Trace:
    end = next((record for record in own if record.kind == "call.finished"), None)
    result = end.data.get("result", {}) if end is not None else {}
    notes = _notes(own, first, result)
    rows = {row[0]: row for row in result.get("stages", ()) if row}
    stages = [_stage(name, rows, has_ended=end is not None) for name in STAGES[:-1]]
    stages.append(_telemetry(own, end))
    noted = [evolve(stage, note=notes.get(stage.name, "") or stage.note) for stage in stages]
    tool = str(result.get("tool") or own[0].data.get("tool", ""))
    return Trace(call_id, tool, str(result.get("status", "unfinished")), own[0].at, tuple(noted))


def _stage(name: str, rows: Mapping[str, Sequence[Any]], *, has_ended: bool) -> Stage:
    row = rows.get(name)
    if row is None:
        return Stage(name, NOT_REACHED if rows or not has_ended else UNKNOWN)
    error_class = str(row[3]) if len(row) >= ROW_WITH_ERROR else ""
    state = DENIED if error_class in REFUSALS else FAILED if error_class else OK
    return Stage(name, state, row[1], row[2], error_class)


def _telemetry(own: Iterable[Record], end: Record | None) -> Stage:
    for record in own:
        if record.kind == "telemetry.failed":
            part = str(record.data.get("plugin") or record.data.get("part", ""))
            return Stage("telemetry", FAILED, note=f"{part} failed")
    if end is None:
        return Stage("telemetry", FAILED, note="the end of this call is not in the journal")
    return Stage("telemetry", OK, note=f"record {end.seq} of the journal")


def _notes(own: Iterable[Record], first: Record, result: Mapping[str, Any]) -> dict[str, str]:
    """Return a note for each stage that has one."""
    policy = [record.kind.removeprefix("call.") for record in own if record.kind in ANSWERS]
    if asked_ms := result.get("asked_ms"):
        policy.append(f"asking took {asked_ms:,g} ms")
    execution = [f"the handler took {result['ran_ms']:,g} ms"] if result.get("ran_ms") else []
    if queued_ms := result.get("queued_ms"):
        execution.append(f"waited {queued_ms:,g} ms for others")
    return {
        "bootstrap": f"in {first.data.get('cwd', '')}",
        "policy": ", ".join(policy),
        "execution": ", ".join(execution),
        "output": str(result.get("artifact", "")),
    }
