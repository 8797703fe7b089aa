"""Leave out the oldest parts of a transcript, the least needed kind first, until the rest fits."""

from collections.abc import Callable, Sequence
from operator import is_

from nanocoder import Message, ToolResult, clip, evolve, message_tokens, spoken
from nanocoder_kit_sessions.context import NoteWriter, earlier_note, first_kept, latest_request

LEAST_SAVED = 0.6
"""The most that stays of the transcript; a person may ask for it long before it is full."""
SHORT_CHARS = 400
"""Length up to which a result costs hardly more than the note that would replace it."""
OLD_REQUEST_CHARS = 2_000
RECENT_RESULT_PART = 0.125
"""A recent result longer than this part of the limit is cut, if nothing else helps."""
CHARS_PER_TOKEN = 3
LEFT_OUT = "[output left out to make room{}; run the tool again if you need it]"

REFUSED = "[{} left out: the model's server refused a request with it]"


def without_files(messages: Sequence[Message]) -> list[Message] | None:
    """Return *messages* without pictures and other files, or None if they have none."""
    shorter = [_without_files(message) for message in messages]
    return None if all(map(is_, shorter, messages)) else shorter


def trim(notes: NoteWriter, *, target: float, recent: float) -> list[Message] | None:
    """Return a shorter transcript that includes a note, or None if nothing can be dropped."""
    trimming = Trimming(notes.messages, notes.limit_tokens, target, recent)
    for step in (
        trimming.shorten_old_results,
        trimming.drop_old_steps,
        trimming.drop_old_talk,
        trimming.clip_old_requests,
        trimming.clip_recent_results,
    ):
        if trimming.is_short_enough:
            break
        step()
    return trimming.result(notes)


class Trimming:
    """A transcript that gets shorter; `None` marks a dropped message."""

    def __init__(
        self, messages: Sequence[Message], limit_tokens: int, target: float, recent: float
    ) -> None:
        self._messages: list[Message | None] = list(messages)
        self._tokens = [message_tokens(message) for message in messages]
        self._before = self._total = sum(self._tokens)
        self._target = min(limit_tokens * target, self._total * LEAST_SAVED)
        self._recent = first_kept(messages, min(limit_tokens * recent, self._target / 2))
        self._request = latest_request(messages)
        self._most_chars = int(limit_tokens * RECENT_RESULT_PART) * CHARS_PER_TOKEN
        self._dropped = 0
        # The new note includes an earlier one, and is at the same index or later.
        earlier = earlier_note(messages).index
        self._note = max(self._recent, earlier)
        if earlier >= 0:
            self._messages[earlier] = None

    @property
    def is_short_enough(self) -> bool:
        """Return True if the conversation has at most the target's tokens."""
        return self._total <= self._target

    def shorten_old_results(self) -> None:
        """Replace old outputs by a note."""
        self._change_each(range(self._recent), _without_outputs)

    def drop_old_steps(self) -> None:
        """Leave out old calls with their results."""
        for index in range(self._recent):
            message = self._messages[index]
            if self.is_short_enough:
                return
            if message is not None and message.calls:
                self._drop(index)
                self._drop(index + 1)

    def drop_old_talk(self) -> None:
        """Leave out old answers and requests, but for the first request and the latest."""
        for index in range(1, self._recent):
            if self.is_short_enough:
                return
            if index != self._request and self._messages[index] is not None:
                self._drop(index)

    def clip_old_requests(self) -> None:
        """Cut the middle out of requests that were answered."""
        self._change_each(range(min(self._recent, self._request)), _clip_request)

    def clip_recent_results(self) -> None:
        """Cut the middle out of long results that just came in."""

        def clip_results(message: Message) -> Message:
            return _clip_results(message, self._most_chars)

        self._change_each(range(self._recent, len(self._messages)), clip_results)

    def result(self, notes: NoteWriter) -> list[Message] | None:
        """Return the remaining messages and the note, or None if nothing was dropped."""
        if self._total >= self._before:
            return None
        new = notes.write(self._note, replaced=self._dropped)
        parts = [*self._messages[: self._note], new, *self._messages[self._note :]]
        return [message for message in parts if message is not None]

    def _change_each(self, indexes: range, change: Callable[[Message], Message]) -> None:
        for index in indexes:
            message = self._messages[index]
            if self.is_short_enough:
                return
            if message is None:
                continue
            changed = change(message)
            if changed is message:
                continue
            tokens = message_tokens(changed)
            if tokens < self._tokens[index]:
                self._total -= self._tokens[index] - tokens
                self._messages[index], self._tokens[index] = changed, tokens

    def _drop(self, index: int) -> None:
        self._messages[index] = None
        self._total -= self._tokens[index]
        self._dropped += 1


def _without_outputs(message: Message) -> Message:
    if not message.results:
        return message
    results = tuple(map(_without_output, message.results))
    # Results of earlier steps mostly have a note already.
    return message if all(map(is_, results, message.results)) else evolve(message, results=results)


def _without_output(result: ToolResult) -> ToolResult:
    if len(result.output) <= SHORT_CHARS and not result.attachments:
        return result
    where = f"; whole output: {result.artifact}" if result.artifact else ""
    return evolve(result, output=LEFT_OUT.format(where), data=None, attachments=())


def _clip_request(message: Message) -> Message:
    if message.role != "user" or len(message.text) <= OLD_REQUEST_CHARS:
        return message
    half = OLD_REQUEST_CHARS // 2
    return evolve(message, text=clip(message.text, head=half, tail=half), attachments=())


def _clip_results(message: Message, most_chars: int) -> Message:
    half = most_chars // 2
    results = (
        evolve(result, output=clip(result.output, head=half, tail=half))
        for result in message.results
    )
    return evolve(message, results=tuple(results)) if message.results else message


def _without_files(message: Message) -> Message:
    results = tuple(
        evolve(result, output=f"{result.output}\n{_left_out(result)}".lstrip(), attachments=())
        if result.attachments
        else result
        for result in message.results
    )
    if message.attachments:
        text = f"{message.text}\n{_left_out(message)}".lstrip()
        return evolve(message, text=text, typed=spoken(message)[0], attachments=())
    return message if all(map(is_, results, message.results)) else evolve(message, results=results)


def _left_out(holder: Message | ToolResult) -> str:
    names = ", ".join(file.name or file.media_type for file in holder.attachments)
    return REFUSED.format(names)
