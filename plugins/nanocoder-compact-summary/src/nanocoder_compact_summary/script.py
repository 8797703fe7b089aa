"""A transcript as a text that a model can read in one message, however long it was."""

from collections.abc import Iterator, Sequence

from nanocoder import Message, OutputLimit, brief, clip, clip_output, spoken

RESULT = OutputLimit.of(1_200, 30, head=0.6)
TEXT_CHARS = 6_000
CHARS_PER_TOKEN = 3
PART = 0.6
"""Its part of the window; the rest is for the instructions and the summary."""


def script_of(messages: Sequence[Message], limit_tokens: int) -> str:
    """Return who said and did what, in order; the middle is left out if it is too long."""
    text = "\n\n".join(line for message in messages for line in _lines(message))
    most = int(limit_tokens * PART) * CHARS_PER_TOKEN
    return f"<conversation>\n{clip(text, head=most // 3, tail=most - most // 3)}\n</conversation>"


def _lines(message: Message) -> Iterator[str]:
    if message.role == "user":
        typed, added = spoken(message)
        yield from (
            f"{who}: {_clip(text)}" for who, text in (("Note", added), ("User", typed)) if text
        )
    elif message.text:
        yield f"Agent: {_clip(message.text)}"
    yield from (f"Agent calls {call.name}({brief(call.arguments)})" for call in message.calls)
    for result in message.results:
        kind = "Error" if result.is_error else "Result"
        yield f"{kind}: {clip_output(result.output, RESULT)}"


def _clip(text: str) -> str:
    return clip(text, head=TEXT_CHARS // 2, tail=TEXT_CHARS // 2)
