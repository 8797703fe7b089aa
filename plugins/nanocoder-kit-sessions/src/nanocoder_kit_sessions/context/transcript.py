"""A transcript as text: for a model that sums it up, and in a file that the agent can read."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from nanocoder import Message, OutputLimit, brief, clip, clip_output, for_model, spoken
from nanocoder_files import private_directory
from nanocoder_kit_files.redact import Redactor

TRANSCRIPT: Final = "transcript.txt"
"""The file in a session's folder of outputs with the messages that compactions replaced."""
CHUNK_BYTES: Final = 1 << 16


def transcript_text(
    messages: Sequence[Message],
    *,
    result: OutputLimit | None = None,
    text_chars: int = 0,
    redact: Callable[[str], str] = str,
) -> str:
    """Return the messages, calls and results as text, in order.

    Each result is cut to *result*, each text to *text_chars* characters; by default nothing is cut.
    *redact* gets each text and result by itself: most were searched for secrets before.
    """
    parts = (_parts(each, result, text_chars, redact) for each in messages)
    return "\n\n".join(chain.from_iterable(parts))


def _parts(
    message: Message, limit: OutputLimit | None, text_chars: int, redact: Callable[[str], str]
) -> Iterator[str]:
    def cut(text: str) -> str:
        half = text_chars // 2
        return redact(clip(text, head=half, tail=half) if text_chars else text)

    if message.role == "user":
        typed, added = spoken(message)
        yield from (
            f"{who}: {cut(text)}" for who, text in (("Note", added), ("User", typed)) if text
        )
    elif message.text:
        yield f"Agent: {cut(message.text)}"
    for call in message.calls:
        # A short form of a call shows its subject, the full form all arguments.
        arguments = brief(call.arguments) if text_chars else str(call.arguments)
        yield f"Agent calls {redact(call.name)}({redact(arguments)})"
    for each in message.results:
        output = each.output if limit is None else clip_output(each.output, limit)
        yield f"{'Error' if each.is_error else 'Result'}: {redact(output)}"


def write_transcript(
    folder: Path | None, messages: Sequence[Message], after: int
) -> tuple[str, int]:
    """Append *messages* to the transcript in *folder*; return its path and its number of lines.

    Only the first *after* lines stay: later ones are from a compaction that failed or was undone.
    Secrets are left out. Without a folder, or if the file cannot be written, the path is empty.
    """
    if folder is None:
        return "", 0
    path = folder / TRANSCRIPT
    with suppress(OSError):
        private_directory(folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "r+b") as file:
            earlier = _skip_lines(file, after)
            file.truncate()
            new = for_model(transcript_text(messages, redact=Redactor().redact))
            file.write(f"{new}\n".encode())
        return str(path), earlier + new.count("\n") + 1
    return "", 0


def _skip_lines(file: BinaryIO, most: int) -> int:
    """Skip up to *most* first lines of *file*, and return the number of skipped lines.

    A transcript can be long, so it is neither read into memory nor split into lines.
    """
    lines = position = 0
    while lines < most and (chunk := file.read(CHUNK_BYTES)):
        missing, ends = most - lines, chunk.count(b"\n")
        if ends >= missing:
            chunk = b"\n".join(chunk.split(b"\n", missing)[:missing]) + b"\n"
        lines += min(ends, missing)
        position += len(chunk)
    file.seek(position)
    return lines
