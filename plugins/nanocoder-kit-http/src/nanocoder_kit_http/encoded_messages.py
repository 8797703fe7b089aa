"""A growing list of messages, each encoded once."""

from collections.abc import Callable, Sequence

from nanocoder import Message


class EncodedMessages:
    """Keep the bytes of messages that were encoded before, by the identity of the message.

    *encode* returns a message as JSON: one object, several joined by commas, or b"" for a message
    that is not sent.
    """

    def __init__(self, encode: Callable[[Message], bytes]) -> None:
        self._encode = encode
        self._known: dict[int, tuple[Message, bytes]] = {}

    def parts(self, messages: Sequence[Message]) -> list[bytes]:
        """Return the bytes of each message, encoding only those not seen before."""
        entries = [self._known.get(id(message)) or self._add(message) for message in messages]
        if len(self._known) > len(entries):  # the history was compacted; let go of what left it
            self._known = {id(entry[0]): entry for entry in entries}
        return [data for _, data in entries]

    def join(self, messages: Sequence[Message]) -> bytes:
        """Return the inside of the JSON array that holds *messages*."""
        return b",".join(filter(None, self.parts(messages)))

    def _add(self, message: Message) -> tuple[Message, bytes]:
        # The entry holds the message, so that no other object can get its id meanwhile.
        entry = self._known[id(message)] = (message, self._encode(message))
        return entry
