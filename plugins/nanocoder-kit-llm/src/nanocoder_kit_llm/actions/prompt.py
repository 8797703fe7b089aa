"""Turn a request into the chat that the model sees; its beginning is the same at each turn."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from nanocoder import Attachment, Message, Request, ToolDefinition

from nanocoder_kit_llm.actions.actions import Actions, action_line
from nanocoder_kit_llm.actions.missing_files import reminder
from nanocoder_kit_llm.http.thinking_tags import TURN_MARK

HOW: Final = (
    'Reply with one JSON object: {{"action": TOOL, ...parameters}}, or, when the request is done, '
    '{{"action": "{answer}", "text": ...}}.'
)
SEVERAL: Final = (
    " For several things alike, write several actions at once, each on a line of its own:"
    '\n{"action": TOOL, ...parameters}\n{"action": TOOL, ...parameters}'
)
NONE: Final = '\nWhen no tool does what the user asks for: {{"action": "{none}", "text": why}}.'
AGAIN: Final = "(This failed. Take another action to do what was asked.)"
NEXT: Final = "(Take the next action, or answer when the request is done.)"

# Text that the tokenizer would read as one of its own marks. A tool's output must not end its turn
# and begin another.
_MARK: Final = re.compile(rf"(?={TURN_MARK})<")

Chat = list[dict[str, str]]


def chat(request: Request, actions: Actions, hidden: Mapping[int, str]) -> Chat:
    """Return the turns for *request*: system, then user and assistant in alternation.

    *hidden* maps a message's `id` to its replacement; "" removes the message.
    """
    turns: Chat = [{"role": "system", "content": system(request.system, actions)}]
    before: Message | None = None
    for message in request.messages:
        replacement = hidden.get(id(message))
        text = turn_text(message, actions, before) if replacement is None else replacement
        before = message
        if text:
            _add(turns, "assistant" if message.role == "assistant" else "user", text)
    requests = (index for index, message in enumerate(request.messages) if is_request(message))
    turns[-1]["content"] += reminder(request, max(requests, default=-1))
    return turns


def _add(turns: Chat, role: str, text: str) -> None:
    """Append a turn; many chat templates refuse two turns of one role, so those become one."""
    if turns[-1]["role"] == role:
        turns[-1]["content"] += f"\n\n{text}"
    else:
        turns.append({"role": role, "content": text})


def system(text: str, actions: Actions) -> str:
    """Return the system turn: the core's text, a line for each tool, and the form of replies."""
    if not actions.tools:
        return text
    return f"{text.strip()}\n\nTools:\n{actions.lines()}\n\n{_how(actions)}".strip()


def tool_texts(tools: Sequence[ToolDefinition], *, is_free: bool = False) -> list[str]:
    """Return the system turn's line for each tool, and the text after the tools."""
    actions = Actions.of(tools, is_free=is_free)
    return [*map(action_line, tools), "\n".join([*actions.ending_lines(), _how(actions)])]


def _how(actions: Actions) -> str:
    how = HOW.format(answer=actions.answer)
    return how + SEVERAL + NONE.format(none=actions.chat) if actions.has_several else how


def turn_text(message: Message, actions: Actions, before: Message | None) -> str:
    """Return one message as the model sees it."""
    if message.role == "assistant":
        return _assistant(message, actions, before)
    if message.role == "tool":
        return results(message, before)
    return defuse("\n".join([message.text, *_not_shown(message.attachments)]))


def _not_shown(attachments: Sequence[Attachment]) -> list[str]:
    return [
        f"[{file.name or 'a file'} ({file.media_type}) cannot be shown to this model]"
        for file in attachments
    ]


def results(message: Message, before: Message | None) -> str:
    """Return the results of a turn, each under the name of its tool, and the nudge to go on."""
    names = {call.id: call.name for call in before.calls} if before else {}
    parts = []
    for result in message.results:
        outcome = "failed" if result.is_error else "returned"
        name = names.get(result.call_id, "The tool")
        text = "\n".join([result.output, *_not_shown(result.attachments)])
        parts.append(f"{name} {outcome}:\n{defuse(text)}")
    failed = any(result.is_error for result in message.results)
    return "\n\n".join([*parts, AGAIN if failed else NEXT])


def defuse(text: str) -> str:
    """Return *text* with the model's own control marks broken up."""
    return _MARK.sub("< ", text)


def is_request(message: Message) -> bool:
    """Return True if a person typed *message*; the program also writes messages as the user."""
    return message.role == "user" and message.typed != ""


def is_bare(message: Message) -> bool:
    """Return True if *message* is a request with no file before it that could answer it."""
    typed = message.text if message.typed is None else message.typed
    return is_request(message) and message.text.startswith(typed)


def has_material(messages: Sequence[Message]) -> bool:
    """Return True if there is something to answer the latest request from."""
    for message in reversed(messages):
        if message.calls or is_request(message):
            return not is_bare(message)
    return False


def _assistant(message: Message, actions: Actions, before: Message | None) -> str:
    if not message.calls:
        bare = before is None or is_bare(before)
        return actions.write_answer(message.text, bare=bare) if actions.tools else message.text
    return "\n".join(actions.write(call.name, call.arguments) for call in message.calls)
