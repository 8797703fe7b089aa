"""How many tokens of the model's window each source takes."""

from collections import Counter
from collections.abc import Iterator

from attrs import frozen
from nanocoder import Message, Session, ToolDefinition, count_tokens, message_tokens, spoken


@frozen
class Source:
    """One source of what the model reads: *kind* is its part of the request, *name* who fills it.

    The kinds are "prompt" (by plugin), "tools" (by plugin), "history" and "results" (by tool).
    """

    kind: str
    name: str
    tokens: int


def sources_of(session: Session) -> list[Source]:
    """Return what each source takes in the next request of *session*, in its order."""
    return [*_prompt(session), *_tools(session), *_history(session), *_results(session)]


def _prompt(session: Session) -> Iterator[Source]:
    additions = [(plugin, count_tokens(text)) for plugin, text in session.context.additions]
    own = count_tokens(session.system) - sum(tokens for _, tokens in additions)
    yield Source("prompt", "nanocoder", max(own, 0))
    for plugin, tokens in additions:
        yield Source("prompt", plugin, tokens)


def _tools(session: Session) -> Iterator[Source]:
    tokens: Counter[str] = Counter()
    for definition in session.context.definitions:
        tokens[definition.plugin or "dialect"] += _definition_tokens(definition)
    yield from (Source("tools", plugin, count) for plugin, count in tokens.most_common())


def _definition_tokens(definition: ToolDefinition) -> int:
    return count_tokens(str((definition.name, definition.description, definition.parameters)))


def _history(session: Session) -> Iterator[Source]:
    tokens: Counter[str] = Counter()
    for message in session.messages:
        if message.role == "user":
            typed, added = spoken(message)
            tokens["typed"] += count_tokens(typed)
            tokens["added to it"] += count_tokens(added)
        elif message.role == "assistant":
            tokens["answers and calls"] += message_tokens(message)
    yield from (Source("history", name, count) for name, count in tokens.items() if count)


def _results(session: Session) -> Iterator[Source]:
    names = {call.id: call.name for message in session.messages for call in message.calls}
    tokens: Counter[str] = Counter()
    for message in session.messages:
        for result in message.results:
            alone = Message("tool", results=(result,))
            tokens[names.get(result.call_id, "")] += message_tokens(alone)
    yield from (Source("results", name, count) for name, count in tokens.most_common())
