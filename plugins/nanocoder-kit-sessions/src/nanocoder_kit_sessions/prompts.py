"""The prompts of a session, numbered as people see them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen
from nanocoder import Message, UsageError, counted, spoken

from nanocoder_kit_sessions.journal import RecordJournal
from nanocoder_kit_sessions.records import Record
from nanocoder_kit_sessions.transcript import without_rewound


@frozen
class Prompt:
    """One prompt of the user; its *number* in the conversation counts from 1.

    *seq* is the number of its first record, *at* its time in seconds since the epoch.
    """

    number: int
    seq: int
    at: float
    text: str


def prompts_of(records: Iterable[Record]) -> list[Prompt]:
    """Return the prompts in *records*, with those before a compaction, without rewound ones."""
    prompts: list[Prompt] = []
    run: Record | None = None
    for record in without_rewound(records):
        if record.kind == "run.started":
            run = record
        elif record.kind == "message" and record.data.get("role") == "user":
            if text := _typed(record.data, run):
                prompts.append(Prompt(len(prompts) + 1, (run or record).seq, record.at, text))
            run = None
    return prompts


def find_prompt(records: Iterable[Record], number: int) -> Prompt:
    """Return the prompt with that number; raises UsageError."""
    prompts = prompts_of(records)
    if not 0 < number <= len(prompts):
        raise UsageError(
            f"there is no prompt {number}: this session has {counted(len(prompts), 'prompt')};"
            " `nanocoder sessions show ID` numbers them"
        )
    return prompts[number - 1]


def take_unanswered(journal: RecordJournal) -> str:
    """Remove the last prompt from the conversation if its run was killed before an answer.

    Returns its text, or "" if there is no such prompt. Raises: UsageError.
    """
    prompt = next(reversed(prompts_of(records := journal.records())), None)
    after = [record for record in records if prompt and record.seq >= prompt.seq]
    is_answered = any(record.data.get("role") == "assistant" for record in after)
    if prompt is None or is_answered or any(record.kind == "run.finished" for record in after):
        return ""
    journal.rewind(prompt.seq, prompt.number)
    return prompt.text


def end_of_replies(records: Sequence[Record], number: int, replies: int) -> int:
    """Return the number of the record after the first *replies* to a prompt and their results.

    Raises: UsageError for an unknown prompt, or one with fewer replies.
    """
    prompt, count = find_prompt(records, number), 0
    after = [record for record in without_rewound(records) if record.seq > prompt.seq]
    for record in after:
        role = str(record.data.get("role")) if record.kind == "message" else ""
        is_next = record.kind in {"run.started", "run.finished"} or role in {"user", "assistant"}
        if is_next and count == replies:
            return record.seq
        if record.kind == "run.started":
            break
        count += role == "assistant"
    if count < replies:
        raise UsageError(f"no reply {replies} to prompt {number}; it has {count}")
    return after[-1].seq + 1


def prompt_numbers(messages: Sequence[Message], prompts: Sequence[Prompt]) -> Mapping[int, int]:
    """Return the number of the prompt for each index of *messages* that is one of *prompts*.

    A compaction may have dropped messages, or replaced them.
    """
    numbers: dict[int, int] = {}
    remaining = len(prompts)
    for index in reversed(range(len(messages))):
        text = spoken(messages[index])[0] if messages[index].role == "user" else ""
        same = (prompt for prompt in reversed(prompts[:remaining]) if text and prompt.text == text)
        prompt = next(same, None)
        if prompt is not None:
            numbers[index], remaining = prompt.number, prompt.number - 1
    return numbers


def _typed(message: Mapping[str, Any], run: Record | None) -> str:
    """Return the typed text of a prompt; earlier releases recorded it only in *run*."""
    text = message.get("typed")
    if text is None and run is not None:
        text = run.data.get("prompt")
    if text is None:
        text = message.get("text")
    return text if isinstance(text, str) else ""
