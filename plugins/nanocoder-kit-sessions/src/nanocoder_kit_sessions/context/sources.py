"""The tokens of the model's context window that each source takes."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from attrs import frozen
from nanocoder import (
    Message,
    PersonError,
    Request,
    Session,
    count_tokens,
    message_tokens,
    spoken,
)

from nanocoder_kit_sessions.context.room import definition_tokens

FILE_MARK: Final = re.compile(r"^\[([^\n\[\]]{1,1000}): [^\n]+; ([0-9a-f]{16})\]$", re.MULTILINE)
"""The line before the text of a file in the system prompt: its path, whose words, and a mark.

A text has one mark, that of its first such line: others are written by the authors of a file.
"""

NEXT: Final = Message("user", "")
"""The user's next message, with which the measured request ends."""


@frozen
class Source:
    """One source of a request's content: *kind* is its part of the request, *name* its author.

    The kinds are "prompt" (by plugin), "files" (of the prompt, by path), "tools" (by plugin),
    "history" and "results" (by tool).
    """

    kind: str
    name: str
    tokens: int


def sources_of(session: Session, messages: Sequence[Message] | None = None) -> list[Source]:
    """Return the tokens of each source in the next request of *session*, in its order.

    *messages* replace the session's own. Text that plugins leave out of requests is not counted.
    Raises: the error of a plugin that stops the request.
    """
    messages = session.messages if messages is None else messages
    request = session.next_request((*messages, NEXT))
    sent = request.messages
    files = prompt_files(session)
    tools, history, results = _tools(session, request), _history(sent), _results(sent)
    return [*_prompt(session, request.system, files), *files, *tools, *history, *results]


def prompt_files(session: Session) -> list[Source]:
    """Return the files whose text is in the system prompt: each follows a line FILE_MARK."""
    files = []
    for _, text in _additions(session):
        lines = list(FILE_MARK.finditer(text))
        marks = [line for line in lines if line[2] == lines[0][2]]
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        for mark, end in zip(marks, ends, strict=False):
            files.append(Source("files", mark[1], count_tokens(text[mark.start() : end])))
    return files


def _additions(session: Session) -> Sequence[tuple[str, str]]:
    """Return the texts that plugins add to the system prompt, each after its plugin's name."""
    return session.additions if session.system else ()


def _prompt(session: Session, system: str, files: Sequence[Source]) -> Iterator[Source]:
    total, in_files = count_tokens(system), sum(file.tokens for file in files)
    others = [(plugin, text) for plugin, text in _additions(session) if not FILE_MARK.search(text)]
    tokens = {plugin: count_tokens(text) for plugin, text in others}
    yield Source("prompt", "nanocoder", max(total - in_files - sum(tokens.values()), 0))
    yield from (Source("prompt", plugin, count) for plugin, count in tokens.items())


def _tools(session: Session, request: Request) -> Iterator[Source]:
    tokens: Counter[str] = Counter()
    texts = _texts_of_tools(session, request)
    for index, definition in enumerate(request.tools):
        size = count_tokens(texts[index]) if texts else definition_tokens(definition)
        tokens[definition.plugin or "dialect"] += size
    for text in texts[len(request.tools) :]:
        tokens["nanocoder"] += count_tokens(text)
    yield from (Source("tools", plugin, count) for plugin, count in tokens.most_common())


def _texts_of_tools(session: Session, request: Request) -> Sequence[str]:
    """Return the texts that the provider sends instead of definitions, or nothing."""
    if not request.tools:
        return ()
    with suppress(PersonError):  # no model is chosen yet
        provider = session.open_provider()
        texts: Sequence[str] = getattr(provider, "tool_texts", lambda _tools: ())(request.tools)
        return texts
    return ()


def _history(messages: Sequence[Message]) -> Iterator[Source]:
    tokens: Counter[str] = Counter()
    for message in messages:
        if message.role == "user":
            typed, added = spoken(message)
            tokens["typed"] += count_tokens(typed)
            tokens["added to it"] += count_tokens(added)
        elif message.role == "assistant":
            tokens["answers and calls"] += message_tokens(message)
    yield from (Source("history", name, count) for name, count in tokens.items() if count)


def _results(messages: Sequence[Message]) -> Iterator[Source]:
    names = {call.id: call.name for message in messages for call in message.calls}
    tokens: Counter[str] = Counter()
    for message in messages:
        for result in message.results:
            alone = Message("tool", results=(result,))
            tokens[names.get(result.call_id, "")] += message_tokens(alone)
    yield from (Source("results", name, count) for name, count in tokens.most_common())
