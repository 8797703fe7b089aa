"""The context of a model: what it reads in a request, and how plugins keep that in its window."""

from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from attrs import evolve
from nanocoder_schema import count_tokens

from nanocoder.cancel import Cancel
from nanocoder.errors import UsageError
from nanocoder.hooks import styles
from nanocoder.provider import Request, ToolDefinition
from nanocoder.session.conversation import message_tokens
from nanocoder.session.reply import Reply
from nanocoder.session.runtime import Runtime
from nanocoder.values import Event, Message, Usage

COMPACT_AT = 0.8
"""The part of the model's window that may be used before the transcript is compacted."""
ASSUMED_WINDOW = 32_768
"""Tokens, where neither the provider nor the configuration says what the model's window is."""
WORTH_ANOTHER_TRY = 1.1
"""In a run that no plugin could shorten, the transcript grows by this factor before another try."""
ASSUMED = (
    f"the context window of {{}} is unknown, so nanocoder assumes {ASSUMED_WINDOW:,} tokens;"
    " set `context` in the configuration (NANOCODER_CONTEXT)"
)


class Window(NamedTuple):
    """How many *tokens* the model called *model* holds; *prompt_tokens* of them are no messages."""

    model: str
    tokens: int
    prompt_tokens: int
    is_assumed: bool = False


class Shortened(NamedTuple):
    """A shorter transcript that *plugin* made; sizes in tokens, without prompt and tools."""

    plugin: str
    messages: tuple[Message, ...]
    before_tokens: int
    after_tokens: int


class Context:
    """What the model of one session reads; *cancel* ends what plugins ask the model."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._conversation = runtime.conversation
        self.cancel = Cancel()
        self._learned: dict[str, int] = {}
        self._not_before = 0.0
        self._earlier: list[tuple[tuple[Message, ...], int]] = []
        self._prompt: tuple[str, Sequence[ToolDefinition]] = ("", ())
        self._prompt_tokens = 0
        self._sent: Sequence[ToolDefinition] | None = None

    @property
    def definitions(self) -> Sequence[ToolDefinition]:
        """The definitions of the tools on offer."""
        runtime = self._runtime
        return runtime.tool_list.definitions(runtime.info)

    @property
    def additions(self) -> Sequence[tuple[str, str]]:
        """The texts that plugins add to the system prompt, each after its plugin's name."""
        return self._runtime.additions if self._runtime.system else ()

    @property
    def window(self) -> Window:
        """The model's window: as a person set it, its provider declares it, or it was learned."""
        declared = getattr(self._runtime.open_provider(), "context", 0)
        model, tokens = self._runtime.info.model, self._runtime.config.core.context or declared
        prompt = self._runtime.system, self.definitions
        if self._prompt[0] is not prompt[0] or self._prompt[1] is not prompt[1]:
            self._prompt, self._prompt_tokens = prompt, prompt_tokens(*prompt)
        size = self._learned.get(model) or tokens
        return Window(model, size or ASSUMED_WINDOW, self._prompt_tokens, is_assumed=not size)

    def next_request(self, messages: Sequence[Message]) -> Request:
        """Return what the model gets next with *messages*, as plugins leave it.

        Raises: StopRun, and whatever else a plugin raises.
        """
        runtime, info = self._runtime, self._runtime.info
        name, schema = info.model.partition("/")[2], info.answer_schema
        request = Request(name, runtime.system, messages, self.definitions, session_id=info.id)
        arguments = {"request": evolve(request, answer_schema=schema), **runtime.hook_context()}
        chain = runtime.plugins.implementations("nanocoder_before_request")
        request = styles.chain(chain, arguments, "request", Request)
        if request.tools is not self._sent:
            # What plugins leave out takes no room; before the first request, nobody knows of it.
            self._sent = request.tools
            self._prompt_tokens = prompt_tokens(request.system, request.tools)
        return request

    def make_room(self) -> Iterator[Event]:
        """Shorten the transcript if it nearly fills the window."""
        window, tokens = self.window, self._conversation.tokens
        if tokens + window.prompt_tokens < window.tokens * COMPACT_AT:
            return
        if tokens < self._not_before and self._conversation.messages[-1].role == "tool":
            return
        if window.is_assumed and not self._earlier:
            yield Event("notice", {"text": ASSUMED.format(window.model)})
        yield from self.shorten("nearly_full")

    def after_overflow(self) -> Generator[Event, None, bool]:
        """Shorten a transcript that the model refused as too long; tell whether that helped."""
        window = self.window
        sent = self._conversation.tokens + window.prompt_tokens
        self._learned[window.model] = min(window.tokens, int(sent * COMPACT_AT))
        return (yield from self.shorten("overflow"))

    def shorten(
        self, reason: str, focus: str = "", prepared: Shortened | None = None
    ) -> Generator[Event, None, bool]:
        """Shorten the transcript, if a plugin can, or take what `propose` *prepared*."""
        shortened = prepared or self.propose(focus)
        if shortened is None:
            self._not_before = self._conversation.tokens * WORTH_ANOTHER_TRY
            return False
        self._earlier.append((tuple(self._conversation.messages), len(shortened.messages)))
        yield self._replace(reason, shortened)
        return True

    def propose(self, focus: str = "") -> Shortened | None:
        """Return what the first plugin makes of the transcript that can shorten it."""
        runtime, before, window = self._runtime, self._conversation.tokens, self.window
        arguments = {
            "messages": tuple(self._conversation.messages),
            "limit_tokens": max(1, window.tokens - window.prompt_tokens),
            "focus": focus,
            "ask_model": self._ask_model,
            **runtime.hook_context(),
        }
        hooks, report = runtime.plugins.implementations("nanocoder_compact"), runtime.plugins.report
        # The next plugin does not take up what a person has stopped.
        for implementation in takewhile(lambda _: not self.cancel.is_set(), hooks):
            answer = styles.choose([implementation], report, arguments, (list, tuple))
            if answer is None:
                continue
            if has_lost_results(answer):
                report(implementation.error("a call lost its result, or a result its call"))
                continue
            after = sum(map(message_tokens, answer))
            if after < before:
                return Shortened(implementation.plugin, tuple(answer), before, after)
        return None

    def restore(self) -> Iterator[Event]:
        """Put back what the latest compaction replaced; raises UsageError when there was none."""
        journal = self._runtime.journal
        replaced = self._earlier or (journal.replaced() if journal is not None else ())
        if not replaced:
            raise UsageError("nothing was compacted in this conversation")
        *self._earlier, (earlier, length) = replaced
        messages = (*earlier, *self._conversation.messages[length:])
        after = sum(map(message_tokens, messages))
        self._not_before = after * WORTH_ANOTHER_TRY
        yield self._replace("restored", Shortened("", messages, self._conversation.tokens, after))

    def correct(self, usage: Usage) -> None:
        """Raise the estimate to what the model counted: *usage* is of the latest request."""
        counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        tokens = counted + usage.output_tokens - self._prompt_tokens
        self._conversation.tokens = max(self._conversation.tokens, tokens)

    def _replace(self, reason: str, new: Shortened) -> Event:
        sizes = f"from {new.before_tokens:,} to {new.after_tokens:,} tokens"
        limit = self.window.tokens
        deed = f"{new.plugin} shortened" if new.plugin else "restored"
        data = new._asdict() | {
            "reason": reason,
            "limit_tokens": limit,
            "message": f"{deed} the conversation {sizes}; the model's window has {limit:,}",
            "messages": self._conversation.replace(new.messages),
        }
        return Event("transcript.compacted", data)

    def _ask_model(self, system: str, messages: Sequence[Message]) -> str:
        """Ask the model beside the conversation, at the expense of the latest run."""
        runtime = self._runtime
        reply, info = Reply(runtime.info.model), runtime.info
        request = Request(runtime.chosen.model, system, messages, session_id=info.id)
        for _ in reply.events(runtime.open_provider(), request, self.cancel):
            pass
        runtime.add_usage(reply.finished.usage)
        return reply.finished.text


def has_lost_results(messages: Sequence[Message]) -> bool:
    """Tell whether some call has no result in the next message, or some result no call."""
    ends = Message("user")
    return any(
        {call.id for call in message.calls} != {result.call_id for result in following.results}
        for message, following in pairwise((ends, *messages, ends))
    )


def prompt_tokens(system: str, tools: Sequence[ToolDefinition]) -> int:
    """Return about how many tokens each request has before its messages."""
    definitions = ((tool.name, tool.description, tool.parameters) for tool in tools)
    return count_tokens(system) + sum(count_tokens(str(definition)) for definition in definitions)
