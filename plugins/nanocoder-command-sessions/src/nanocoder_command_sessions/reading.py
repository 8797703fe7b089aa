"""`nanocoder sessions show` and `export`: the transcript of a session."""

from argparse import Namespace
from collections.abc import Iterable
from typing import Any, Final

from attrs import evolve
from nanocoder import Host, Message, brief, encode_message, one_line, spoken
from nanocoder_kit_files.redact import Redactor
from nanocoder_kit_sessions import Record, Transcript, session_store
from nanocoder_kit_sessions.prompts import prompt_numbers, prompts_of
from nanocoder_kit_sessions.redaction import without_secrets
from nanocoder_kit_sessions.transcript import INTERRUPTED, repaired

from nanocoder_command_sessions.archive import is_in_use, read_session
from nanocoder_command_sessions.markdown import as_markdown

RUNNING: Final = "the session is in use; the call still runs, or waits for an answer"
OUTPUT_CHARS: Final = 2_000
LINE_COLUMNS: Final = 160
REDACTED: Final = (
    "Secrets of known forms are replaced by [secret: …]. Review the rest before sharing."
)
NOTHING_SAID: Final = "There is nothing in the conversation{}."
REWOUND: Final = "; what was said in it was rewound, and its journal keeps it"
UNREDACTED: Final = (
    "Contains everything that the session keeps, possibly secrets. Review before sharing."
)


def show(arguments: Namespace, host: Host) -> int:
    """Print a transcript: messages as they are, calls and results in a line each."""
    store = session_store(host)
    records, transcript = read_session(store, arguments.id, host.cwd)
    if transcript.interrupted and is_in_use(store, arguments.id, host.cwd):
        _mark_running(transcript)
    numbers = prompt_numbers(transcript.messages, prompts_of(records))
    if arguments.output == "json":
        data = _data(transcript)
        for index, number in numbers.items():
            data["messages"][index]["prompt"] = number
        host.print_json(data)
        return 0
    compactions = transcript.compactions
    for index, message in enumerate(transcript.messages):
        _print_compactions(host, compactions, index)
        _print_message(host, message, numbers.get(index, 0))
    _print_compactions(host, compactions, len(transcript.messages))
    if not transcript.messages:
        is_rewound = any(record.kind == "transcript.rewound" for record in records)
        host.print_line(NOTHING_SAID.format(REWOUND if is_rewound else ""))
    return 0


def _mark_running(transcript: Transcript) -> None:
    """Mark the last calls as still running, since the session is in use."""
    last = transcript.messages[-1]
    results = [
        evolve(result, output=RUNNING, error_class="not finished")
        if result.error_class == "interrupted" and result.output == INTERRUPTED
        else result
        for result in last.results
    ]
    transcript.messages[-1] = evolve(last, results=tuple(results))


def export(arguments: Namespace, host: Host) -> int:
    """Print a whole transcript, for people who read it elsewhere, without secrets."""
    store = session_store(host)
    session_id = store.find(arguments.id, cwd=host.cwd)
    records = store.records(session_id)
    if not arguments.unredacted:
        records = _without_secrets(records)
    transcript = repaired(records, store.path(session_id).with_suffix(""), for_people=True)
    if arguments.format == "json":
        host.print_json({"session_id": session_id, **_data(transcript)})
    elif arguments.format == "html":
        from nanocoder_command_sessions.page import as_page  # it loads pygments

        host.print_line(as_page(session_id, records, transcript))
    else:
        host.print_line(as_markdown(session_id, transcript))
    host.say(UNREDACTED if arguments.unredacted else REDACTED)
    return 0


def _without_secrets(records: Iterable[Record]) -> list[Record]:
    """Return *records* without secrets, which older sessions did not redact."""
    redactor = Redactor()
    return [without_secrets(record, redactor) for record in records]


def _data(transcript: Transcript) -> dict[str, Any]:
    messages = [encode_message(message) for message in transcript.messages]
    session = {"title": transcript.title, "model": transcript.model, "cwd": transcript.cwd}
    compactions = [{"before": index, "text": text} for index, text in transcript.compactions]
    return {**session, "messages": messages, "compactions": compactions}


def _print_compactions(host: Host, compactions: Iterable[tuple[int, str]], index: int) -> None:
    for before, text in compactions:
        if before == index:
            host.print_line(f"compacted: {one_line(text, LINE_COLUMNS)}")


def _print_message(host: Host, message: Message, number: int) -> None:
    typed, added = spoken(message)
    if typed:
        host.print_line(f"{message.role}{f' {number}' if number else ''}: {typed}")
    if added:
        host.print_line(f"  added for the model: {one_line(added, LINE_COLUMNS)}")
    for call in message.calls:
        edited = ", edited by a person" if call.edited else ""
        host.print_line(f"  call {call.name}{edited}: {brief(call.arguments)}")
    for result in message.results:
        status = result.error_class or "ok"
        output = result.output[:OUTPUT_CHARS].removeprefix(f"{status}: ")
        host.print_line(f"  {status}: {one_line(output, LINE_COLUMNS)}")
