"""The calls of stored sessions, and the decisions on them at that time."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import frozen
from nanocoder import Host, ToolCall, UsageError
from nanocoder_kit_sessions import Record, session_store

REFUSED = "denied by the user"
BY_A_PERSON = (REFUSED, "denied: no answer", "denied: the answer")
"""Prefixes of the message of a refusal after a question."""


@frozen
class StoredCall:
    """A call of a session: *decision* is that of the policies at the time, in *mode*.

    *answer* is the user's: "approved", "refused", or "" without one. *cwd* is the directory of the
    session.
    """

    session: str
    call: ToolCall
    mode: str
    decision: str
    answer: str = ""
    cwd: str = ""


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
        with suppress(UsageError):  # `doctor` reports damaged journals
            calls += stored_calls(session_id, store.records(session_id))
    return calls


def stored_calls(session_id: str, records: Iterable[Record]) -> Iterator[StoredCall]:
    """Yield each call about which something was decided."""
    mode, cwd, calls = "", "", dict[str, ToolCall]()
    decisions, answers = dict[str, str](), dict[str, str]()
    for record in records:
        data = record.data
        if record.kind.startswith("session."):
            mode, cwd = str(data.get("mode") or mode), str(data.get("cwd") or cwd)
        if record.kind == "message":
            calls |= {call.id: call for call in _calls_in(data)}
            continue
        call_id = str(data.get("call_id", ""))
        if record.kind == "call.approved":
            decisions[call_id], answers[call_id] = "ask", "approved"
        elif record.kind == "call.denied":
            decisions[call_id], answers[call_id] = _decision_of_refusal(data)
            if call_id not in calls and "tool" in data:  # no model has called it
                calls[call_id] = _call_of(data, call_id)
        elif record.kind == "call.started" and isinstance(data.get("arguments"), dict):
            calls[call_id] = _call_of(data, call_id)
            decisions.setdefault(call_id, "allow")
        elif record.kind == "call.finished":
            decision, answer = decisions.pop(call_id, ""), answers.pop(call_id, "")
            if decision and call_id in calls:
                yield StoredCall(session_id, calls.pop(call_id), mode, decision, answer, cwd)


def _call_of(data: Mapping[str, Any], call_id: str) -> ToolCall:
    value = data.get("arguments")
    arguments = value if isinstance(value, dict) else {}
    return ToolCall(call_id, str(data.get("tool", "")), arguments, typed=data.get("typed") is True)


def _decision_of_refusal(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the decision on a call that did not run, and the user's answer ("refused" or "")."""
    message = str(data.get("message", ""))
    is_asked = data.get("error_class") == "approval_needed" or message.startswith(BY_A_PERSON)
    return "ask" if is_asked else "deny", "refused" if message.startswith(REFUSED) else ""


def _calls_in(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    for call in message.get("calls") or ():
        if isinstance(call, dict) and isinstance(call.get("arguments", {}), dict):
            arguments = call.get("arguments", {})
            yield ToolCall(str(call.get("id", "")), str(call.get("name", "")), arguments)
