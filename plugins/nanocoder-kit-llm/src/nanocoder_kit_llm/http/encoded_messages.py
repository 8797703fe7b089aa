"""A growing list of messages, each encoded once."""

from collections.abc import Callable, Sequence
from operator import is_

from nanocoder import Message, ToolResult


def result_text(result: ToolResult) -> str:
    """Return the text of a result for a protocol that has no flag for errors.

    A failed command already ends with its exit code: an "Error: " before it would look like output.
    """
    is_marked = result.output.startswith("Error") or bool(result.metadata.get("exit_code"))
    return result.output if is_marked or not result.is_error else f"Error: {result.output}"


class EncodedMessages:
    """Caches the bytes of messages that were encoded before, by the identity of the message.

    *encode* returns a message as JSON: one object, several joined by commas, or b"" for a message
    that is not sent.
    """

    def __init__(self, encode: Callable[[Message], bytes]) -> None:
        self._encode = encode
        # Parallel lists. The reference to a message prevents that its id is reused.
        self._messages: list[Message] = []
        self._parts: list[bytes] = []

    def parts(self, messages: Sequence[Message]) -> list[bytes]:
        """Return the bytes of each message, encoding only those not seen before."""
        count = len(self._messages)
        # Histories nearly always only grow: then no message is looked up.
        if len(messages) >= count and all(map(is_, self._messages, messages)):
            parts = [*self._parts, *map(self._encode, messages[count:])]
        else:  # the history was compacted or changed; drop the messages that left it
            by_id = dict(zip(map(id, self._messages), self._parts, strict=True))
            pairs = ((message, by_id.get(id(message))) for message in messages)
            parts = [self._encode(each) if part is None else part for each, part in pairs]
        self._messages, self._parts = list(messages), parts
        return list(parts)

    def join(self, messages: Sequence[Message]) -> bytes:
        """Return the inside of the JSON array of *messages*."""
        return b",".join(filter(None, self.parts(messages)))
