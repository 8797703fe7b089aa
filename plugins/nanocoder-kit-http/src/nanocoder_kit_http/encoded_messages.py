"""A growing list of messages, each encoded once."""

from collections.abc import Callable, Sequence
from operator import is_

from nanocoder import Message, ToolResult


def result_text(result: ToolResult) -> str:
    """Return what a model reads of a result where the protocol has no mark for errors.

    A command that failed says so at its end: before its output the mark would be part of that.
    """
    is_marked = result.output.startswith("Error") or bool(result.metadata.get("exit_code"))
    return result.output if is_marked or not result.is_error else f"Error: {result.output}"


class EncodedMessages:
    """Keep the bytes of messages that were encoded before, by the identity of the message.

    *encode* returns a message as JSON: one object, several joined by commas, or b"" for a message
    that is not sent.
    """

    def __init__(self, encode: Callable[[Message], bytes]) -> None:
        self._encode = encode
        # Beside each other; holding a message keeps its id from another object.
        self._messages: list[Message] = []
        self._parts: list[bytes] = []

    def parts(self, messages: Sequence[Message]) -> list[bytes]:
        """Return the bytes of each message, encoding only those not seen before."""
        count = len(self._messages)
        # Nearly always there are only more: then no message is looked up.
        if len(messages) >= count and all(map(is_, self._messages, messages)):
            parts = [*self._parts, *map(self._encode, messages[count:])]
        else:  # the history was compacted, or changed; let go of what left it
            by_id = dict(zip(map(id, self._messages), self._parts, strict=True))
            pairs = ((message, by_id.get(id(message))) for message in messages)
            parts = [self._encode(each) if part is None else part for each, part in pairs]
        self._messages, self._parts = list(messages), parts
        return list(parts)

    def join(self, messages: Sequence[Message]) -> bytes:
        """Return the inside of the JSON array that holds *messages*."""
        return b",".join(filter(None, self.parts(messages)))
