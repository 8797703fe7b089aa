"""The searchable text of a journal: its prompts, answers, calls and results."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen
from nanocoder import brief
from nanocoder_files import open_private

from nanocoder_kit_sessions.prompts import Prompt, prompts_of
from nanocoder_kit_sessions.records import Record, title_of
from nanocoder_kit_sessions.transcript import first_prompt, without_rewound

MAX_LINE_BYTES: Final = 268_435_456
TEXT_CHARS: Final = 100_000
RESULT_CHARS: Final = 1_000
"""Searchable length of a message, and of a call's result."""


@frozen
class Passage:
    """A text of a session; *role* is "title", "prompt", "answer", "call" or "result".

    *prompt* is the number of the prompt that it belongs to, 0 if that was rewound.
    """

    role: str
    text: str
    at: float
    prompt: int = 0


@define
class SessionFacts:
    """Metadata of a session from its journal; times in seconds since the epoch."""

    cwd: str = ""
    model: str = ""
    title: str = ""
    started: float = 0.0
    updated: float = 0.0
    turns: int = 0
    forked_from: str = ""
    tags: Sequence[str] = ()


@define
class JournalText(SessionFacts):
    """The facts about a session, and its passages."""

    passages: list[Passage] = field(factory=list)


def read_journal_text(path: Path) -> JournalText | None:
    """Return the searchable text of a journal, or None if it has no complete record.

    Raises: OSError.
    """
    with os.fdopen(open_private(path), "rb") as file:
        lines = takewhile(bool, iter(lambda: file.readline(MAX_LINE_BYTES), b""))
        records = [record for record in map(Record.of_line, lines) if record is not None]
    if not records:
        return None
    prompts = prompts_of(records)
    text = JournalText(started=records[0].at, updated=records[-1].at, turns=records[-1].turn)
    for record in records:
        if record.kind in {"session.started", "session.changed", "session.resumed"}:
            _follow(text, record.data)
    text.title = title_of(records[-1].title or text.title or first_prompt(records))
    text.passages.append(Passage("title", text.title, text.started))
    text.passages += _passages(records, prompts)
    return text


def tags_of(records: Sequence[Record]) -> Sequence[str]:
    """Return the tags that a session has."""
    text = JournalText()
    for record in records:
        if record.kind == "session.changed":
            _follow(text, record.data)
    return text.tags


def _follow(text: JournalText, data: Mapping[str, Any]) -> None:
    for name in ("cwd", "model", "title", "forked_from"):
        if isinstance(value := data.get(name), str):
            setattr(text, name, value)
    tags = data.get("tags")
    if isinstance(tags, list):
        text.tags = tuple(sorted({tag for tag in tags if isinstance(tag, str)}))


def _passages(records: Sequence[Record], prompts: Sequence[Prompt]) -> Iterator[Passage]:
    numbers = {prompt.seq: prompt.number for prompt in prompts}
    standing = {record.seq for record in without_rewound(records)}
    number = 0
    for record in records:
        number = numbers.get(record.seq, number)
        for role, text in _texts(record):
            if text.strip():
                belongs_to = number if record.seq in standing else 0
                yield Passage(role, text, record.at, belongs_to)


def _texts(record: Record) -> Iterator[tuple[str, str]]:
    data = record.data
    if record.kind == "message" and str(data.get("role")) in {"user", "assistant"}:
        role = "prompt" if data["role"] == "user" else "answer"
        yield role, _text(data.get("typed", data.get("text")), TEXT_CHARS)
        calls = data.get("calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("arguments"), dict):
                yield "call", f"{call.get('name')}: {brief(call['arguments'])}"
    elif record.kind == "call.finished" and isinstance(data.get("result"), dict):
        yield "result", _text(data["result"].get("output"), RESULT_CHARS)


def _text(value: object, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""
