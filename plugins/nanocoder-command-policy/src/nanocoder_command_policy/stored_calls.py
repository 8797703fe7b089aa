"""The calls of stored sessions, and what was decided about them then."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import frozen
from nanocoder import Host, ToolCall, UsageError
from nanocoder_kit_sessions import Record, session_store

BY_A_PERSON = ("denied by the user", "denied: no answer", "denied: the answer")
"""How the message of a refusal begins that follows a question."""


@frozen
class StoredCall:
    """A call of a session: *decision* is what the policies said of it then, in *mode*."""

    session: str
    call: ToolCall
    mode: str
    decision: str


def calls_of_session(host: Host, name: str) -> list[StoredCall]:
    """Return the calls of the session that *name* means; raises UsageError."""
    store = session_store(host)
    session_id = store.find(name, cwd=host.cwd)
    return list(stored_calls(session_id, store.records(session_id)))


def calls_of_all_sessions(host: Host) -> list[StoredCall]:
    """Return the calls of every session that can be read, the oldest first."""
    store = session_store(host)
    calls = list[StoredCall]()
    for session_id in store.ids():
        with suppress(UsageError):  # what is left of a damaged journal is in `doctor`
            calls += stored_calls(session_id, store.records(session_id))
    return calls


def stored_calls(session_id: str, records: Iterable[Record]) -> Iterator[StoredCall]:
    """Yield each call about which something was decided."""
    mode, calls, decisions = "", dict[str, ToolCall](), dict[str, str]()
    for record in records:
        data = record.data
        mode = str(data.get("mode") or mode) if record.kind.startswith("session.") else mode
        if record.kind == "message":
            calls |= {call.id: call for call in _calls_in(data)}
            continue
        call_id = str(data.get("call_id", ""))
        if record.kind == "call.approved":
            decisions[call_id] = "ask"
        elif record.kind == "call.denied":
            decisions[call_id] = _decision_of_refusal(data)
            if call_id not in calls and "tool" in data:  # no model has called it
                calls[call_id] = _call_of(data, call_id)
        elif record.kind == "call.started" and isinstance(data.get("arguments"), dict):
            calls[call_id] = _call_of(data, call_id)
            decisions.setdefault(call_id, "allow")
        elif record.kind == "call.finished":
            decision = decisions.pop(call_id, "")
            if decision and call_id in calls:
                yield StoredCall(session_id, calls.pop(call_id), mode, decision)


def _call_of(data: Mapping[str, Any], call_id: str) -> ToolCall:
    value = data.get("arguments")
    arguments = value if isinstance(value, dict) else {}
    return ToolCall(call_id, str(data.get("tool", "")), arguments, typed=data.get("typed") is True)


def _decision_of_refusal(data: Mapping[str, Any]) -> str:
    is_asked = data.get("error_class") == "approval_needed"
    return "ask" if is_asked or str(data.get("message", "")).startswith(BY_A_PERSON) else "deny"


def _calls_in(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    for call in message.get("calls") or ():
        if isinstance(call, dict) and isinstance(call.get("arguments", {}), dict):
            arguments = call.get("arguments", {})
            yield ToolCall(str(call.get("id", "")), str(call.get("name", "")), arguments)
