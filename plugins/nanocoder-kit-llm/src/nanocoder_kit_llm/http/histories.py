"""Histories as a vendor takes them: made valid, and each message encoded once."""

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from operator import is_
from typing import Final

from attrs import evolve
from nanocoder import Message, ToolCall, ToolResult, value

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME_CHARS: Final = 64
NO_NAME: Final = "unknown_tool"
NO_OUTPUT: Final = "(no output)"
NO_RESULT: Final = "(no result: the call was interrupted)"
EARLIER: Final = "[results of earlier calls]"
PICTURES: Final = "Attached to the results above:"
READ: Final = "Understood."
GO_ON: Final = "[go on]"
LEFT_OUT: Final = "[what came before is left out]"


@value
class HistoryRules:
    """The rules of one vendor in addition to the common ones.

    Ids of calls that do not match *call_ids* are replaced by *id_prefix* and hexadecimal digits,
    *id_chars* characters in all. With *speaks_before_user* an assistant message is required between
    tool results and a user message; with *has_text_results* a result cannot contain pictures.
    """

    call_ids: str = r"[\x21-\x7e]{1,64}"
    id_prefix: str = "call_"
    id_chars: int = 29
    speaks_before_user: bool = False
    has_text_results: bool = False


class History:
    """Makes growing histories valid, the same message always in the same way.

    Each call has one result, roles alternate, nothing is empty, and names and ids are in the
    vendor's alphabet. While a history only grows, messages sent before stay the same, so that its
    encoded prefix is stable.
    """

    def __init__(self, rules: HistoryRules) -> None:
        self._rules = rules
        self._call_ids = re.compile(rules.call_ids)
        self._sources: list[Message] = []
        self._valid: list[Message] = []
        self._plain: dict[int, tuple[Message, Message]] = {}

    def valid(self, messages: Sequence[Message]) -> list[Message]:
        """Return *messages* as the vendor takes them; most are the same objects."""
        count = len(self._sources)
        if len(messages) < count or not all(map(is_, self._sources, messages)):
            count = 0
            self._valid = []
            current = {id(message) for message in messages}
            self._plain = {key: item for key, item in self._plain.items() if key in current}
        for message in messages[count:]:
            self._add(self._sendable(message))
        self._sources = list(messages)
        return list(self._valid)

    def _add(self, message: Message) -> None:
        latest = self._valid[-1] if self._valid else None
        open_calls = latest.calls if latest is not None else ()
        if open_calls and message.role != "tool":
            self._add(Message("tool"))
        if message.role == "tool":
            self._add_results(message, open_calls)
        elif message.role == "user":
            if message.text.strip() or message.attachments:
                self._add_user(message)
        elif message.text.strip() or message.calls or message.native:
            self._add_assistant(message)

    def _add_assistant(self, message: Message) -> None:
        if not self._valid or self._valid[-1].role == "assistant":
            self._valid.append(Message("user", GO_ON if self._valid else LEFT_OUT, typed=""))
        self._valid.append(message)

    def _add_user(self, message: Message) -> None:
        latest = self._valid[-1] if self._valid else None
        if latest is not None and latest.role == "user":
            text = "\n\n".join(filter(None, (latest.text, message.text)))
            attachments = latest.attachments + message.attachments
            self._valid[-1] = Message("user", text, attachments=attachments)
            return
        if latest is not None and latest.role == "tool" and self._rules.speaks_before_user:
            self._valid.append(Message("assistant", READ))
        self._valid.append(message)

    def _add_results(self, message: Message, calls: Sequence[ToolCall]) -> None:
        """Add one result for each of *calls*; results of other calls become text."""
        if not calls:
            texts = [EARLIER, *(result.output for result in message.results)]
            if message.results:
                self._add_user(Message("user", "\n\n".join(texts), typed=""))
            return
        results = {result.call_id: result for result in message.results}
        ordered = tuple(results.get(call.id) or _missing(call) for call in calls)
        pictures = tuple(file for result in ordered for file in result.attachments)
        if pictures and self._rules.has_text_results:
            ordered = tuple(evolve(result, attachments=()) for result in ordered)
        if len(ordered) != len(message.results) or not all(map(is_, ordered, message.results)):
            message = evolve(message, results=ordered)
        self._valid.append(message)
        if pictures and self._rules.has_text_results:
            self._add_user(Message("user", PICTURES, attachments=pictures, typed=""))

    def _sendable(self, message: Message) -> Message:
        """Return *message* with names and ids in the vendor's alphabet; always the same object."""
        if not message.calls and not message.results:
            return message
        if id(message) not in self._plain:
            calls = tuple(map(self._sendable_call, message.calls))
            results = tuple(map(self._sendable_result, message.results))
            is_same = all(map(is_, (*calls, *results), (*message.calls, *message.results)))
            sendable = message if is_same else evolve(message, calls=calls, results=results)
            self._plain[id(message)] = (message, sendable)
        return self._plain[id(message)][1]

    def _sendable_call(self, call: ToolCall) -> ToolCall:
        call_id, name = self._sendable_id(call.id), sendable_name(call.name)
        is_same = call_id == call.id and name == call.name
        return call if is_same else evolve(call, id=call_id, name=name)

    def _sendable_result(self, result: ToolResult) -> ToolResult:
        call_id = self._sendable_id(result.call_id)
        is_empty = not result.output.strip() and not result.attachments
        if call_id == result.call_id and not is_empty:
            return result
        return evolve(result, call_id=call_id, output=NO_OUTPUT if is_empty else result.output)

    def _sendable_id(self, call_id: str) -> str:
        if self._call_ids.fullmatch(call_id):
            return call_id

        digits = self._rules.id_chars - len(self._rules.id_prefix)
        return (
            self._rules.id_prefix + sha256(call_id.encode("utf-8", "replace")).hexdigest()[:digits]
        )


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


def result_text(result: ToolResult) -> str:
    """Return the text of a result for a protocol that has no flag for errors.

    A failed command already ends with its exit code: an "Error: " before it would look like output.
    """
    is_marked = result.output.startswith("Error") or bool(result.metadata.get("exit_code"))
    return result.output if is_marked or not result.is_error else f"Error: {result.output}"


def sendable_name(name: str) -> str:
    """Return the *name* of a tool, which a model may have made up, as every vendor takes it."""
    if _NAME.fullmatch(name):
        return name
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_")[:_NAME_CHARS] or NO_NAME


def _missing(call: ToolCall) -> ToolResult:
    return ToolResult(NO_RESULT, is_error=True, error_class="cancelled", call_id=call.id)
