"""A transcript as Markdown, for people who read it elsewhere."""

import re
from collections.abc import Iterator
from typing import Final

from nanocoder_schema import canonical_json

from nanocoder.session.messages import spoken
from nanocoder.session.transcript import Transcript
from nanocoder.values import Message, ToolCall, ToolResult

SPEAKERS: Final = {"user": "You", "assistant": "Model", "tool": "Tools"}
TICKS: Final = re.compile("`{3,}")


def as_markdown(session_id: str, transcript: Transcript) -> str:
    """Return the whole transcript; text stays as it is, what tools said stands in code blocks."""
    title = transcript.title.replace("\n", " ") or "Session without a prompt"
    about = {
        "session": session_id,
        "model": transcript.model,
        "directory": transcript.cwd,
        "turns": str(transcript.turns),
    }
    head = [f"# {title}", *(f"- {name}: `{value}`" for name, value in about.items() if value)]
    parts = [f"{head[0]}\n\n" + "\n".join(head[1:])]
    names = {call.id: call.name for message in transcript.messages for call in message.calls}
    for message in transcript.messages:
        parts.extend(_message(message, names))
    return "\n\n".join(parts)


def _message(message: Message, names: dict[str, str]) -> Iterator[str]:
    said, added = spoken(message)
    yield f"## {'Nanocoder' if added and not said else SPEAKERS[message.role]}"
    if said:
        yield said.strip("\n")
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
    return f"Call `{call.name}`{edited}:\n\n{fenced(canonical_json(dict(call.arguments)), 'json')}"


def _result(result: ToolResult, name: str) -> str:
    outcome = f"failed ({result.error_class or 'error'})" if result.is_error else "returned"
    return f"`{name}` {outcome}:\n\n{fenced(result.output)}"


def fenced(text: str, language: str = "") -> str:
    """Return *text* as a code block that nothing in it can end."""
    longest = max(map(len, TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
