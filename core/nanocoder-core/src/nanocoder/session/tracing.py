"""One call's way through its six stages, told from the records that the journal has of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from nanocoder_schema import Value, did_you_mean

from nanocoder.errors import UsageError
from nanocoder.path.stages import STAGES
from nanocoder.session.records import Record

OK, FAILED, NOT_REACHED, UNKNOWN = "ok", "failed", "not reached", "unknown"


@frozen(eq=False, repr=False)
class Stage(Value):
    """One stage: its *status*, and in milliseconds when it began after the call came, and how long.

    Times are None where nothing was recorded.
    """

    name: str
    status: str
    at_ms: float | None = None
    ms: float | None = None
    error_class: str = ""
    note: str = ""

    def data(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "stage": self.name,
            "status": self.status,
            "at_ms": self.at_ms,
            "ms": self.ms,
            "error_class": self.error_class,
            "note": self.note,
        }


@frozen(eq=False, repr=False)
class Trace(Value):
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
    ids = [found for one in records if (found := _call_of(one))]
    wanted = ids[-1] if ids and call_id == "last" else call_id
    if wanted not in ids:
        raise _no_such_call(call_id, ids, records)
    mine: list[Record] = []
    for record in (one for one in records if _call_of(one) == wanted):
        # An id may come again in a session that was resumed: the last call that has it counts.
        if record.kind != "telemetry.failed" and any(one.kind == "call.finished" for one in mine):
            mine = []
        mine.append(record)
    return _traced(wanted, mine, records[0])


def _no_such_call(call_id: str, ids: Sequence[str], records: Sequence[Record]) -> UsageError:
    origin = records[0].data.get("forked_from", "") if records else ""
    earlier = f"; it is a fork: earlier calls are in {origin}" if origin else ""
    hint = did_you_mean(call_id, set(ids), earlier)
    what = f"the session has no call {call_id!r}" if ids else "no call was made in the session"
    error = UsageError(f"{what}{hint}")
    error.error_class = "call_not_found"
    return error


def _call_of(record: Record) -> str:
    found = record.data.get("call_id", "")
    return found if isinstance(found, str) else ""


def _traced(call_id: str, mine: Sequence[Record], first: Record) -> Trace:
    end = next((one for one in mine if one.kind == "call.finished"), None)
    result = end.data.get("result", {}) if end is not None else {}
    notes = _notes(mine, first, result)
    rows = {row[0]: row for row in result.get("stages", ()) if row}
    stages = [_stage(name, rows, end is not None) for name in STAGES[:-1]]
    stages.append(_telemetry(mine, end))
    told = [evolve(one, note=notes.get(one.name, "") or one.note) for one in stages]
    tool = str(result.get("tool") or mine[0].data.get("tool", ""))
    return Trace(call_id, tool, str(result.get("status", "unfinished")), mine[0].at, tuple(told))


def _stage(name: str, rows: Mapping[str, Sequence[Any]], has_ended: bool) -> Stage:  # noqa: FBT001
    row = rows.get(name)
    if row is None:
        is_known = bool(rows)
        return Stage(name, NOT_REACHED if is_known or not has_ended else UNKNOWN)
    error_class = str(row[3]) if len(row) > 3 else ""  # noqa: PLR2004 - the form of a row
    return Stage(name, FAILED if error_class else OK, row[1], row[2], error_class)


def _telemetry(mine: Iterable[Record], end: Record | None) -> Stage:
    for record in mine:
        if record.kind == "telemetry.failed":
            part = str(record.data.get("plugin") or record.data.get("part", ""))
            return Stage("telemetry", FAILED, note=f"{part} failed")
    if end is None:
        return Stage("telemetry", FAILED, note="the end of this call is not in the journal")
    return Stage("telemetry", OK, note=f"record {end.seq} of the journal")


def _notes(mine: Iterable[Record], first: Record, result: Mapping[str, Any]) -> dict[str, str]:
    """Return what is worth knowing of each stage."""
    policy = [one.kind.removeprefix("call.") for one in mine if one.kind in POLICY]
    asked, queued = result.get("asked_ms"), result.get("queued_ms")
    if asked:
        policy.append(f"asking took {asked:,g} ms")
    execution = [f"the handler took {result['ran_ms']:,g} ms"] if result.get("ran_ms") else []
    if queued:
        execution.append(f"waited {queued:,g} ms for others")
    return {
        "bootstrap": f"in {first.data.get('cwd', '')}",
        "policy": ", ".join(policy),
        "execution": ", ".join(execution),
        "output": str(result.get("artifact", "")),
    }


POLICY = frozenset({"call.approved", "call.edited"})
