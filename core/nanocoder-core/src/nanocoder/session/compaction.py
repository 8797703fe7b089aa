"""Compaction: plugins shorten the transcript, which may be restored later."""

from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from nanocoder.cancel import Cancel
from nanocoder.errors import PluginError
from nanocoder.hooks import dispatch
from nanocoder.provider import Request, Window
from nanocoder.session.conversation import message_tokens
from nanocoder.session.reply import Reply
from nanocoder.session.runtime import Runtime
from nanocoder.values import Event, Message, Usage

UNKNOWN_WINDOW = "is unknown; set `context` in the configuration (NANOCODER_CONTEXT)"


class Shortened(NamedTuple):
    """A shorter transcript that *plugin* made; sizes in tokens, without prompt and tools."""

    plugin: str
    messages: tuple[Message, ...]
    before_tokens: int
    after_tokens: int


class Compaction:
    """Replace the transcript of one session; *cancel* ends plugins' requests to the model.

    *usage* is of the latest request. *earlier* has the messages before each compaction that was not
    reverted, with the number of messages after it; those of a resumed session are in its journal.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.cancel = Cancel()
        self.usage = Usage()
        self.earlier: list[tuple[tuple[Message, ...], int]] = []

    def shorten(self, reason: str, focus: str = "") -> Generator[Event, None, bool]:
        """Replace the transcript by a plugin's shorter one; return true if one did."""
        if (shortened := self.propose(reason, focus)) is not None:
            yield from self.replace(shortened, reason)
        return shortened is not None

    def propose(self, reason: str, focus: str = "") -> Shortened | None:
        """Return the transcript of the first plugin that shortens it, or None."""
        runtime, request = self._runtime, self._runtime.expected_request()
        window = Window(request, runtime.window_tokens, self.usage)
        own = {"ask_model": self._ask_model, "tools": runtime.tools}
        arguments = runtime.hook_context(window=window, reason=reason, focus=focus, **own)
        hooks = runtime.plugins.implementations("nanocoder_compact")
        # After an interrupt the next plugin is not asked.
        for implementation in takewhile(lambda _: not self.cancel.is_set(), hooks):
            answer = dispatch.choose([implementation], self._report, arguments, (list, tuple))
            if answer is None:
                continue
            if not is_whole(answer):
                self._report(implementation.error("no messages, or a call lost its result"))
            # One that is not shorter would be compacted again at once.
            elif (after := tokens_of(answer)) < (before := tokens_of(request.messages)):
                return Shortened(implementation.plugin, tuple(answer), before, after)
        return None

    def replace(self, new: Shortened, reason: str) -> Iterator[Event]:
        """Continue with *new*; without a plugin it restores the messages before a compaction."""
        conversation, window = self._runtime.conversation, self._runtime.window_tokens
        if new.plugin:
            self.earlier.append((tuple(conversation.messages), len(new.messages)))
        sizes = f"from {new.before_tokens:,} to {new.after_tokens:,} tokens"
        deed = f"{new.plugin} shortened" if new.plugin else "restored"
        holds = f"has {window:,}" if window else UNKNOWN_WINDOW
        data = new._asdict() | {
            "reason": reason or "nearly_full",
            "limit_tokens": window,
            "message": f"{deed} the conversation {sizes}; the model's window {holds}",
            "messages": conversation.replace(new.messages),
        }
        yield Event("transcript.compacted", data)

    def _report(self, error: PluginError) -> None:
        if not self.cancel.is_set():  # an interrupt is no failure of the plugin
            self._runtime.plugins.report(error)

    def _ask_model(self, system: str, messages: Sequence[Message]) -> str:
        """Ask the model outside of the transcript; the tokens count for the latest run."""
        runtime, reply = self._runtime, Reply(self._runtime.info.model)
        # Without tools: the model must summarise, not work.
        request = Request(runtime.chosen.model, system, messages, session_id=runtime.info.id)
        for _ in reply.events(runtime.open_provider(), request, self.cancel):
            pass
        runtime.add_usage(reply.finished.usage)
        return reply.finished.text


def tokens_of(messages: Sequence[Message]) -> int:
    """Estimate the tokens of *messages*."""
    return sum(map(message_tokens, messages))


def is_whole(messages: Sequence[Message]) -> bool:
    """Return True if all items are messages, and each call has its result in the next one."""
    ends, kinds = Message("user"), {type(message) for message in messages}
    return kinds == {Message} and all(
        {call.id for call in message.calls} == {result.call_id for result in following.results}
        for message, following in pairwise((ends, *messages, ends))
    )
