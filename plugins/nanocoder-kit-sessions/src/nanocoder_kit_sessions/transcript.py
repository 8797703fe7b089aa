"""The transcript of a journal, repaired: every call of the model has exactly one result."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import evolve, field
from nanocoder import Message, ToolCall, ToolResult, spoken
from nanocoder_schema import mutable

from nanocoder_kit_sessions.messages import decode, decode_message
from nanocoder_kit_sessions.records import Record, title_of

CHANGED: Final = "session.changed"
COMPACTED: Final = "transcript.compacted"
INTERRUPTED: Final = "interrupted: the program ended before this call finished"


@mutable
class Transcript:
    """The messages of a session, and its metadata.

    *turns* counts the model's answers, *interrupted* holds the calls that got a result by repair.
    *replaced* has, for each compaction that is not restored, the messages before it and the number
    of messages after it. *compactions* has, in a transcript with all messages, the number of
    messages before each compaction, and a sentence that describes it.
    """

    messages: list[Message] = field(factory=list)
    model: str = ""
    mode: str = ""
    cwd: str = ""
    title: str = ""
    turns: int = 0
    interrupted: list[ToolCall] = field(factory=list)
    replaced: list[tuple[tuple[Message, ...], int]] = field(factory=list)
    compactions: list[tuple[int, str]] = field(factory=list)

    def add(self, message: Message) -> None:
        """Append a message."""
        self.messages.append(message)
        self.turns += message.role == "assistant"
        if not self.title and message.role == "user":
            self.title = title_of(spoken(message)[0])


def repaired(
    records: Iterable[Record], artifacts: Path | None = None, *, for_people: bool = False
) -> Transcript:
    """Return the transcript of *records*, ready for the next request.

    Calls without a result get one that says they were interrupted; results without a call, and
    invalid messages, are left out. *artifacts* is the directory of the session's large
    attachments. A transcript *for_people* has all messages, compacted or not, and each edited
    call as it ran.
    """
    records = list(records)
    repair = _Repair(artifacts, for_people=for_people)
    # The title stays when the prompt that it comes from is rewound.
    repair.transcript.title = title_of(first_prompt(records))
    for record in without_rewound(records):
        repair.take(record)
    repair.settle()
    return repair.transcript


def first_prompt(records: Iterable[Record]) -> str:
    """Return the first prompt of a session, rewound or not, or "" if it has none."""
    prompts = (record.data.get("prompt") for record in records if record.kind == "run.started")
    return next((prompt for prompt in prompts if prompt and isinstance(prompt, str)), "")


def without_rewound(records: Iterable[Record]) -> list[Record]:
    """Return *records* without those that a later `transcript.rewound` removes.

    Changes of the session itself, such as its title, are not removed.
    """
    standing = list[Record]()
    earliest: float = math.inf  # the lowest `from` of the records after this one
    for record in reversed([*records]):
        if record.seq < earliest or record.kind == CHANGED:
            standing.append(record)
        first = record.data.get("from") if record.kind == "transcript.rewound" else None
        if isinstance(first, int):
            earliest = min(earliest, first)
    return standing[::-1]


class _Repair:
    """Replays a journal, and tracks the calls without a result."""

    def __init__(self, artifacts: Path | None, *, for_people: bool) -> None:
        self.transcript = Transcript()
        self._artifacts = artifacts
        self._for_people = for_people
        self._waiting: tuple[ToolCall, ...] = ()
        self._results: dict[str, list[ToolResult]] = {}
        self._prompt = ""

    def take(self, record: Record) -> None:
        """Apply one record; kinds that do not affect the transcript are ignored."""
        data = record.data
        if record.kind == "message":
            self._message(data)
        elif record.kind == "run.started":
            self._prompted(data)
        elif record.kind == "call.finished":
            self._finished(data)
        elif record.kind == "call.started" and self._for_people:
            self._started(data)
        elif record.kind == COMPACTED and self._for_people:
            self.settle()
            index = len(self.transcript.messages)
            self.transcript.compactions.append((index, _description(data.get("message"))))
        elif record.kind == COMPACTED and isinstance(data.get("messages"), list):
            self._compacted(data["messages"], is_restored=data.get("reason") == "restored")
        elif record.kind in {"session.started", "session.resumed", CHANGED}:
            self._follow_session(data)

    def settle(self) -> None:
        """Give every waiting call its result."""
        if self._waiting:
            results = tuple(self._result(call) for call in self._waiting)
            self.transcript.add(Message("tool", results=results))
        self._waiting, self._results = (), {}

    def _message(self, data: Any) -> None:
        try:
            message = decode_message(data, self._artifacts)
        except ValueError:
            return
        if message.role == "tool":
            self._answered(message.results)
            self.settle()
            return
        self.settle()
        if message.role == "user":
            message = self._as_typed(message)
        self.transcript.add(message)
        self._waiting = message.calls

    def _answered(self, results: Iterable[ToolResult]) -> None:
        """Use the results as the model saw them; for others the journal's results are used."""
        by_call: dict[str, list[ToolResult]] = {}
        for result in results:
            by_call.setdefault(result.call_id, []).append(result)
        self._results |= by_call

    def _started(self, data: Mapping[str, Any]) -> None:
        """Replace the model's call by the one that ran, if a user edited it."""
        name, arguments = data.get("tool"), data.get("arguments")
        called = [call for call in self._waiting if call.id == data.get("call_id")]
        if not (data.get("edited") is True and isinstance(arguments, dict) and called):
            return
        # A provider may use an ID twice in one turn: replace only one call.
        before = next((call for call in called if not call.edited), called[0])
        ran = evolve(before, name=str(name), arguments=arguments, edited=True)
        self._waiting = tuple(ran if call is before else call for call in self._waiting)
        self.transcript.messages[-1] = evolve(self.transcript.messages[-1], calls=self._waiting)

    def _finished(self, data: Mapping[str, Any]) -> None:
        result = data.get("result")
        if isinstance(result, dict):
            result = decode(ToolResult, result, self._artifacts)
            self._results.setdefault(result.call_id, []).append(result)

    def _compacted(self, messages: list[object], *, is_restored: bool) -> None:
        self.settle()
        transcript = self.transcript
        turns, earlier = transcript.turns, tuple(transcript.messages)
        transcript.messages.clear()
        for message in messages:
            self._message(message)
        transcript.turns = turns
        if not is_restored:
            transcript.replaced.append((earlier, len(transcript.messages)))
        elif transcript.replaced:  # the record of the compaction may be damaged
            transcript.replaced.pop()

    def _prompted(self, data: Mapping[str, Any]) -> None:
        """Set the title from the typed text; the message may also contain whole files."""
        prompt = data.get("prompt")
        self._prompt = prompt if isinstance(prompt, str) else ""
        self.transcript.title = self.transcript.title or title_of(self._prompt)

    def _as_typed(self, message: Message) -> Message:
        """Return the message of a run with its typed text, which earlier releases lack."""
        prompt, self._prompt = self._prompt, ""
        if prompt and message.typed is None and prompt != message.text and prompt in message.text:
            return evolve(message, typed=prompt)
        return message

    def _follow_session(self, data: Mapping[str, Any]) -> None:
        for name in ("model", "mode", "cwd", "title"):
            if isinstance(value := data.get(name), str):
                setattr(self.transcript, name, value)

    def _result(self, call: ToolCall) -> ToolResult:
        if results := self._results.get(call.id):
            return results.pop(0)
        self.transcript.interrupted.append(call)
        return ToolResult(INTERRUPTED, is_error=True, error_class="interrupted", call_id=call.id)


def _description(message: object) -> str:
    """Return the description of a compaction, without its clause about the context window."""
    description = message.partition(";")[0] if isinstance(message, str) else ""
    return description or "a plugin shortened the conversation"
