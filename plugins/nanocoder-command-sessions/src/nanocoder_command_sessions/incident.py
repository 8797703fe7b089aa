"""`nanocoder sessions incident`: an incident note, filled from a session's journal."""

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from nanocoder import Host, UsageError, brief, one_line
from nanocoder_kit_files.redact import Redactor
from nanocoder_kit_sessions import Record, session_store
from nanocoder_kit_sessions.redaction import without_secrets

TO_FILL: Final = "(to be filled in: {})"
COLUMNS: Final = 120
NOT_WRITTEN: Final = frozenset({"disk_full", "io_error", "permission_denied"})
"""The classes of errors with which the last change of a call was not made."""
TICKS: Final = re.compile("`+")
CALLS: Final = frozenset({"call.started", "call.edited", "call.denied"})
"""Records with the arguments of a call."""


def incident(arguments: Namespace, host: Host) -> int:
    """Print the note as Markdown, with blanks for facts that no journal has."""
    end = _end(arguments.expected_end)
    store = session_store(host)
    session_id = store.find(arguments.id, cwd=host.cwd)
    redactor = Redactor()
    records = [without_secrets(record, redactor) for record in store.records(session_id)]
    if not records:
        raise UsageError(f"the session {session_id} has no intact record")
    owner = one_line(arguments.owner, COLUMNS)
    host.print_line("\n".join(_lines(session_id, records, owner, end)))
    return 0


def _end(text: str) -> str:
    if not text:
        return ""
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".strip()
    except ValueError as error:
        example = f"{datetime.now(UTC):%Y-%m-%dT18:00Z}"
        problem = f"--expected-end: a date and time is needed, such as {example}, not {text!r}"
        raise UsageError(problem) from error


def _lines(session_id: str, records: Sequence[Record], owner: str, end: str) -> Iterator[str]:
    first = records[0].data
    yield f"# Incident: {TO_FILL.format('one sentence: who noticed what, when')}"
    yield ""
    yield f"- Owner: {owner or TO_FILL.format('one person')}"
    yield f"- Expected end: {end or TO_FILL.format('date and time; update it when it passes')}"
    yield f"- Session: {_code(session_id)} in {_code(first.get('cwd', ''))}"
    yield f"- Model and mode: {_code(_model(records))}, {first.get('mode', 'unknown')}"
    yield f"- From {_time(records[0])} to {_time(records[-1])}"
    yield from ("", "## What happened", "")
    yield from _steps(records)
    yield from ("", "## Files changed", "")
    yield from _files(records) or ["None."]
    for title, what in (
        ("First signal", "the alert, or why there was none"),
        ("Rolled back to", 'version of the set, or "not needed"'),
    ):
        yield from ("", f"## {title}", "", TO_FILL.format(what))
    yield from (
        "",
        "## Test",
        "",
        f"Written by {_code(f'nanocoder sessions to-test {session_id}')}.",
    )


def _model(records: Sequence[Record]) -> str:
    models = [str(record.data["model"]) for record in records if record.data.get("model")]
    return models[-1] if models else "none"


def _steps(records: Sequence[Record]) -> Iterator[str]:
    arguments: dict[str, Any] = {}
    for record in records:
        if record.kind in CALLS and isinstance(record.data.get("arguments"), dict):
            arguments[str(record.data.get("call_id", ""))] = record.data["arguments"]
        if step := _step(record, arguments):
            yield f"1. {_at(record)} {step}"


def _step(record: Record, arguments: dict[str, Any]) -> str:
    """Return a line for a prompt, a call with its verdict, an undo, or the end, or ""."""
    data = record.data
    if record.kind == "run.started":
        return f"Prompt: {_code(data.get('prompt', ''))}"
    if record.kind == "call.finished":
        return _call(data.get("result", {}), arguments.get(str(data.get("call_id", "")), {}))
    if record.kind == "undo.finished":
        return f"Files were put back: {', '.join(map(_code, data.get('files', ())))}"
    if record.kind == "run.finished":
        error = (data.get("error") or {}).get("message", "")
        return f"Ended: {data.get('stop_reason', '')}{f': {_code(error)}' if error else ''}"
    return ""


def _call(result: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Return a line with the outcome of a call, and the rule and file that denied it."""
    status, why = str(result.get("status", "")), result.get("error_class", "")
    data = result.get("data")
    verdict = data if status == "denied" and isinstance(data, dict) else {}
    rule = [_code(verdict[key]) for key in ("plugin", "rule", "source") if verdict.get(key)]
    outcome = status if why in ("", status) else f"{status} ({why})"
    by = f" by {', '.join(rule)}" if rule else ""
    output = "" if status == "ok" or rule else f": {_code(result.get('output', ''))}"
    return f"{_code(result.get('tool', ''))} {_code(brief(arguments))}: {outcome}{by}{output}"


def _files(records: Sequence[Record]) -> list[str]:
    """Return a line for each file, which says whether it is again as it was."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for data in _changes(records):
        path = str(data.get("path", ""))
        before.setdefault(path, _digest(data.get("before")))
        after[path] = _digest(data.get("after"))
    states = dict.fromkeys(sorted(before), "as the session left it")
    states |= {path: "put back" for path in before if after[path] == before[path]}
    return [f"- {_code(path)}: {state}" for path, state in states.items()]


def _changes(records: Sequence[Record]) -> list[Mapping[str, Any]]:
    """Return the changes that were made: each is recorded before, and the disk may refuse it."""
    changes: list[Mapping[str, Any]] = []
    begun: dict[str, int] = {}
    for record in records:
        call_id = str(record.data.get("call_id", ""))
        if record.kind == "call.started":
            begun[call_id] = len(changes)
        elif record.kind == "file.changed":
            changes.append(record.data)
        elif record.kind == "call.finished" and len(changes) > begun.get(call_id, len(changes)):
            result = record.data.get("result")
            if isinstance(result, dict) and result.get("error_class") in NOT_WRITTEN:
                changes.pop()
    return changes


def _digest(state: Any) -> Any:
    return (state.get("kind"), state.get("digest")) if isinstance(state, dict) else state


def _code(text: Any) -> str:
    """Return a text as code in one line that nothing in it can end."""
    line = one_line(str(text), COLUMNS)
    fence = "`" * (1 + max(map(len, TICKS.findall(line)), default=0))
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{room}{line}{room}{fence}" if line else "(nothing)"


def _time(record: Record) -> str:
    return f"{datetime.fromtimestamp(record.at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _at(record: Record) -> str:
    return f"{datetime.fromtimestamp(record.at, UTC):%H:%M:%S}"
