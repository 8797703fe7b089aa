"""A transcript as Markdown, for people who read it elsewhere."""

import json
import re
from collections.abc import Iterator
from typing import Final

from nanocoder import Message, ToolCall, ToolResult, spoken
from nanocoder_kit_sessions import Transcript

SPEAKERS: Final = {"user": "You", "assistant": "Model", "tool": "Tools"}
TICKS: Final = re.compile("`{3,}")


def as_markdown(session_id: str, transcript: Transcript) -> str:
    """Return the whole transcript: text as it is, arguments and outputs of tools in code blocks."""
    title = transcript.title.replace("\n", " ") or "Session without a prompt"
    facts = {
        "session": session_id,
        "model": transcript.model,
        "directory": transcript.cwd,
        "turns": str(transcript.turns),
    }
    head = [f"# {title}", *(f"- {name}: `{value}`" for name, value in facts.items() if value)]
    parts = [f"{head[0]}\n\n" + "\n".join(head[1:])]
    names = {call.id: call.name for message in transcript.messages for call in message.calls}
    for index, message in enumerate(transcript.messages):
        parts.extend(_compactions(transcript, index))
        parts.extend(_message(message, names))
    parts.extend(_compactions(transcript, len(transcript.messages)))
    return "\n\n".join(parts)


def _compactions(transcript: Transcript, index: int) -> Iterator[str]:
    for before, text in transcript.compactions:
        if before == index:
            yield f"Compacted:\n\n{fenced(text)}"


def _message(message: Message, names: dict[str, str]) -> Iterator[str]:
    typed, added = spoken(message)
    yield f"## {'Nanocoder' if added and not typed else SPEAKERS[message.role]}"
    if typed:
        yield typed.strip("\n")
    if added:
        yield f"Added for the model:\n\n{fenced(added)}"
    for attachment in message.attachments:
        yield f"(attached: {attachment.name or attachment.media_type})"
    for call in message.calls:
        yield _call(call)
    for result in message.results:
        yield _result(result, names.get(result.call_id, "a call"))


def _call(call: ToolCall) -> str:
    edited = ", edited by a person" if call.edited else ""
    arguments = json.dumps(dict(call.arguments), sort_keys=True, separators=(",", ":"))
    return f"Call `{call.name}`{edited}:\n\n{fenced(arguments, 'json')}"


def _result(result: ToolResult, name: str) -> str:
    outcome = f"failed ({result.error_class or 'error'})" if result.is_error else "returned"
    return f"`{name}` {outcome}:\n\n{fenced(result.output)}"


def fenced(text: str, language: str = "") -> str:
    """Return *text* as a code block that nothing in it can end."""
    longest = max(map(len, TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
