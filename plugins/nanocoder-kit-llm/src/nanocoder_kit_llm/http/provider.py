"""The common part of all providers over HTTP: client, key, retries, waits, and ids of calls."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal

from nanocoder import (
    Cancel,
    Finished,
    Notice,
    ProviderError,
    Request,
    Retrying,
    TextDelta,
    ThinkingDelta,
    Usage,
    start_on_thread,
)

from nanocoder_kit_llm.http.client import Client
from nanocoder_kit_llm.http.keys import Key
from nanocoder_kit_llm.http.replies import ReplyContext, ReplyDecoder, read_reply
from nanocoder_kit_llm.http.settings import HttpSettings
from nanocoder_kit_llm.http.sizes import is_small
from nanocoder_kit_llm.http.sse import SseEvent
from nanocoder_kit_llm.http.written_calls import WrittenCalls

Batches = Generator[list[SseEvent], None, None]
Profile = Literal["full", "small"]
Pieces = Iterator[TextDelta | ThinkingDelta | Notice | Retrying | Finished]

NOTICE_S: Final = 5.0
"""Interval of the notices with the elapsed time, in seconds."""


class HttpProvider:
    """A base for providers: a subclass writes the body of a request and decodes its reply.

    *headers* are sent besides the one with the *key*; *own* are those of the user's configuration.
    """

    def __init__(
        self,
        model: str,
        settings: HttpSettings,
        base_url: str,
        key: Key,
        *,
        headers: Mapping[str, str] | None = None,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self.profile: Profile = settings.profile or ("small" if is_small(model) else "full")
        self._is_profile_chosen = bool(settings.profile)
        self._model = model
        self._client = Client(
            base_url,
            key=key,
            headers=headers,
            own=own,
            timeouts=settings.timeouts(),
            proxy=settings.proxy,
        )
        self._retry = settings.retry(self._client.budget)
        self._ids: set[str] = set()
        self._written = WrittenCalls()
        self._begins_thinking = False

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(
        self,
        request: Request,
        cancel: Cancel,
        send: Callable[[], Batches],
        decode: Callable[[ReplyContext], ReplyDecoder],
        priced: Callable[[Usage], Usage],
    ) -> Pieces:
        """Yield the reply to the request of *send*, and retry it as the settings allow."""
        context = ReplyContext(self._client.host, self._ids, priced)

        def attempt() -> Any:
            reply, batches = decode(context), send()
            if self._client.is_patient:
                batches = yield from waited_for(batches, context.host)
            is_thinking = self._begins_thinking
            lone_end = yield from read_reply(
                batches, reply, request, self._written, context.host, is_thinking=is_thinking
            )
            self._begins_thinking = is_thinking or lone_end
            if self._written.is_only_way:
                self._take_as_small()

        return self._retry.run(attempt, cancel)

    def _take_as_small(self) -> None:
        """Use the small profile from now on, unless the user configured one."""
        if not self._is_profile_chosen:
            self.profile = "small"

    def _entries(self, path: str, field: str) -> Sequence[Any]:
        """Return the entries of a list of models; raises ProviderError for another answer."""
        answer = self._client.get_json(path)
        entries = answer.get(field) if isinstance(answer, dict) else answer
        if not isinstance(entries, list) or (isinstance(answer, list) and not answer):
            raise ProviderError(
                f"{self._client.host} did not answer with a list of models", kind="protocol"
            )
        return entries


def waited_for(batches: Batches, host: str) -> Generator[Sequence[Notice], None, Batches]:
    """Yield notices of the elapsed time until the first of *batches*, and return all batches.

    The first one is awaited on another thread: a server may load a model or read a long prompt.
    """
    firsts: SimpleQueue[list[SseEvent] | BaseException | None] = SimpleQueue()
    started = time.monotonic()

    def take_first(thread: Any) -> bool:
        try:
            first: list[SseEvent] | BaseException | None = next(batches, None)
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            first = error
        thread.rest()
        firsts.put(first)
        return True

    start_on_thread(take_first)
    while True:
        try:
            return _with_first(firsts.get(timeout=NOTICE_S), batches)
        except Empty:
            seconds = time.monotonic() - started
            text = f"{host} loads the model or reads the prompt, {seconds:.0f} s"
            yield [Notice(text, is_passing=True)]


def _with_first(first: list[SseEvent] | BaseException | None, batches: Batches) -> Batches:
    """Yield *first* and the other *batches*; raises it if it is an error."""
    try:
        if isinstance(first, BaseException):
            raise first
        if first is not None:
            yield first
        yield from batches
    finally:
        batches.close()
