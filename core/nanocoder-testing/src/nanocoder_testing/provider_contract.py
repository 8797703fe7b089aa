"""The conformance suite of providers: replies of every kind, and network failures.

A provider's `tests/test_conformance.py` is one import and one fixture:

    from nanocoder_testing.provider_contract import *

    @pytest.fixture
    def provider_wire():
        return MyWire()

`MyWire` encodes a reply in the protocol; see `nanocoder_testing.provider_wire`.
"""

import gzip
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any, Final

import pytest
from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled, ProviderError
from nanocoder.provider import (
    Finished,
    Provider,
    Request,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
)
from nanocoder.values import Message, ToolResult

from nanocoder_testing.provider_wire import ProviderWire, WireCall, WireReply
from nanocoder_testing.server import FOREVER, Answer, ScriptedServer, Seen, refusal

__all__ = [
    "test_a_call_that_the_token_limit_cut_is_not_run",
    "test_a_cancel_in_the_middle_ends_the_stream_within_a_second",
    "test_a_captive_portal_is_no_reply",
    "test_a_large_reply_arrives_whole",
    "test_a_packed_bomb_is_refused_at_once",
    "test_a_refusal_says_so_and_calls_nothing",
    "test_a_reply_that_is_cut_is_an_error_or_whole",
    "test_a_reply_without_anything_ends",
    "test_a_request_that_is_refused_is_not_repeated",
    "test_a_wait_beyond_reason_is_not_waited",
    "test_an_overloaded_server_is_asked_again",
    "test_arguments_that_cannot_be_trusted_make_a_call_with_an_error",
    "test_bytes_may_come_in_any_pieces",
    "test_calls_come_in_order_with_ids_of_their_own",
    "test_names_of_calls_stay_what_the_model_said",
    "test_text_comes_in_pieces_and_whole",
    "test_the_vendors_own_library_reads_the_same",
    "test_thinking_is_no_text_and_can_be_sent_back",
    "test_tokens_of_the_cache_are_counted_apart",
    "test_tools_of_every_shape_can_be_sent",
]

HELLO: Final = WireReply(("Hel", "lo."), input_tokens=10, output_tokens=5)
WORK: Final = WireReply(
    ("I look.",),
    calls=(
        WireCall("read_file", '{"path": "a"}', "c1"),
        WireCall("grep", '{"pattern": "é\\u2028", "deep": {"list": [1, null]}}', "c2"),
        WireCall("list_files", "{}", "c3"),
    ),
    input_tokens=10,
    output_tokens=5,
)
SHAPES: Final = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A path"},
        "kind": {"enum": ["a", "b"]},
        "limit": {"type": ["integer", "null"], "default": None},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
TOOLS: Final = (
    ToolDefinition("shapes", "Take every shape.", SHAPES),
    ToolDefinition("nothing", "Take nothing.", {"type": "object", "properties": {}}),
)
QUESTION: Final = Message("user", "Say hello.")
LARGE_BYTES: Final = 10_000_000
CANCEL_S: Final = 1.0


class WireServer(ScriptedServer):
    """A server that answers side requests itself, so that *seen* has only the others."""

    def __init__(self, wire: ProviderWire, *answers: Answer) -> None:
        self._wire = wire
        super().__init__(*answers)

    def _next(self, request: Seen) -> Answer:
        value = self._wire.side_answer(request.path)
        return super()._next(request) if value is None else refusal(200, value)


@contextmanager
def serving(
    wire: ProviderWire, *answers: Answer, retries: int = 0
) -> Iterator[tuple[Provider, WireServer]]:
    """Serve *answers* and yield a provider opened on the server, and the server."""
    with WireServer(wire, *answers) as server:
        provider = wire.open(server.url, retries)
        try:
            yield provider, server
        finally:
            provider.close()


def ask(provider: Provider, *messages: Message, tools: Sequence[ToolDefinition] = ()) -> list[Any]:
    """Return the pieces of the reply of *provider* to *messages*."""
    request = Request("", "Be brief.", messages or (QUESTION,), tools)
    return list(provider.stream(request, Cancel()))


def reply_to(wire: ProviderWire, reply: WireReply) -> list[Any]:
    """Return the pieces that the provider yields when the server sends *reply*."""
    with serving(wire, Answer(wire.pieces(reply))) as (provider, _):
        return ask(provider)


def failure_of(wire: ProviderWire, *answers: Answer, retries: int = 0) -> tuple[ProviderError, int]:
    """Return the error that *answers* cause, and the number of requests."""
    with serving(wire, *answers, retries=retries) as (provider, server):
        with pytest.raises(ProviderError) as caught:
            ask(provider)
        return caught.value, len(server.seen)


def content(end: Finished) -> Any:
    """Return a reply's text and calls, without the calls' ids, which may be generated."""
    return end.text, [(call.name, dict(call.arguments), call.error) for call in end.calls]


# Replies


def test_text_comes_in_pieces_and_whole(provider_wire: ProviderWire) -> None:
    """Yield the text as it arrives, and finally Finished with all of it and its tokens."""
    *pieces, end = reply_to(provider_wire, HELLO)
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "Hello."
    assert isinstance(end, Finished)
    assert (end.text, end.calls, end.truncated, end.refusal) == ("Hello.", (), False, "")
    assert (end.usage.input_tokens, end.usage.output_tokens) == (10, 5)


def test_calls_come_in_order_with_ids_of_their_own(provider_wire: ProviderWire) -> None:
    """Keep the model's order, and give each call an id of its own, even if the server does not."""
    same = [WireCall(call.name, call.arguments, "same") for call in WORK.calls]
    for calls in (WORK.calls, same):
        end = reply_to(provider_wire, WireReply(WORK.text, calls=calls))[-1]
        assert content(end) == (
            "I look.",
            [(call.name, json.loads(call.arguments), "") for call in WORK.calls],
        )
        assert len({call.id for call in end.calls}) == len(WORK.calls)


def test_thinking_is_no_text_and_can_be_sent_back(provider_wire: ProviderWire) -> None:
    """Keep thinking apart from text; a second request may carry the first reply and its results."""
    thinking = "" if "thinking" in provider_wire.lacks else "Let me see."
    first = Answer(provider_wire.pieces(WireReply(WORK.text, thinking, WORK.calls)))
    second = Answer(provider_wire.pieces(HELLO))
    with serving(provider_wire, first, second) as (provider, server):
        *pieces, end = ask(provider, tools=TOOLS)
        thoughts = "".join(piece.text for piece in pieces if isinstance(piece, ThinkingDelta))
        assert (thoughts, end.text) == (thinking, "I look.")
        results = tuple(
            ToolResult(f"result {number}", call_id=call.id, is_error=number == 1)
            for number, call in enumerate(end.calls)
        )
        spoken = Message("assistant", end.text, end.calls, native=end.native)
        answer = ask(provider, QUESTION, spoken, Message("tool", results=results), tools=TOOLS)
        assert answer[-1].text == "Hello."
        sent = json.dumps(server.seen[1].json)
    assert all(f"result {number}" in sent for number in range(len(results)))


def test_a_reply_without_anything_ends(provider_wire: ProviderWire) -> None:
    """Return an empty Finished, which the core reports to the person."""
    end = reply_to(provider_wire, WireReply())[-1]
    assert content(end) == ("", [])


def test_a_refusal_says_so_and_calls_nothing(provider_wire: ProviderWire) -> None:
    """Set `Finished.refusal` if the model declined or a filter stopped it."""
    if "refusal" not in provider_wire.lacks:
        end = reply_to(provider_wire, WireReply(("I cannot",), end="refusal"))[-1]
        assert end.refusal
        assert end.calls == ()


def test_a_call_that_the_token_limit_cut_is_not_run(provider_wire: ProviderWire) -> None:
    """Set `truncated`, and an error for a call with cut arguments."""
    calls = (
        [] if "cut-arguments" in provider_wire.lacks else [WireCall("write", '{"path": "a', "c")]
    )
    end = reply_to(provider_wire, WireReply(("I write",), calls=calls, end="length"))[-1]
    assert end.truncated
    assert all(call.error for call in end.calls)
    assert len(end.calls) == len(calls)


def test_arguments_that_cannot_be_trusted_make_a_call_with_an_error(
    provider_wire: ProviderWire,
) -> None:
    """Refuse text after the object, no object, and duplicate names; never guess."""
    if "bad-arguments" not in provider_wire.lacks:
        for arguments in ('{"a": 1}{"a": 1}', "[]", '"ls"', '{"a": 1, "a": 2}', "{"):
            reply = WireReply(calls=[WireCall("bash", arguments, "c")])
            (call,) = reply_to(provider_wire, reply)[-1].calls
            assert (dict(call.arguments), bool(call.error)) == ({}, True), arguments


def test_names_of_calls_stay_what_the_model_said(provider_wire: ProviderWire) -> None:
    """Pass names on unchanged: the core refuses unknown ones, and a similar one is another tool."""
    for name in ("Read_File", "functions.read_file", "no such/tool", ""):
        (call,) = reply_to(provider_wire, WireReply(calls=[WireCall(name, "{}", "c")]))[-1].calls
        assert call.name == name


def test_tokens_of_the_cache_are_counted_apart(provider_wire: ProviderWire) -> None:
    """Count a token once: `input_tokens` does not include cached ones."""
    if "cached-usage" not in provider_wire.lacks:
        reply = WireReply(("ok",), input_tokens=10, cached_tokens=4, output_tokens=2)
        usage = reply_to(provider_wire, reply)[-1].usage
        assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (6, 4, 2)


def test_tools_of_every_shape_can_be_sent(provider_wire: ProviderWire) -> None:
    """Send valid JSON with all tools, in the protocol's subset of JSON Schema."""
    with serving(provider_wire, Answer(provider_wire.pieces(HELLO))) as (provider, server):
        ask(provider, tools=TOOLS)
        sent = json.dumps(server.seen[0].json)
    assert all(f'"{tool.name}"' in sent and tool.description in sent for tool in TOOLS)


def test_the_vendors_own_library_reads_the_same(provider_wire: ProviderWire) -> None:
    """Agree with the vendor's library on text, calls and tokens; pass without one."""
    lacks = provider_wire.lacks
    cut = [] if "cut-arguments" in lacks else [WireCall("write", '{"path": "a', "c")]
    thinking = "" if "thinking" in lacks else "Let me see."
    for reply in (
        HELLO,
        WORK,
        WireReply(WORK.text, thinking, WORK.calls, input_tokens=9, cached_tokens=4),
        WireReply(calls=WORK.calls[:1]),
        WireReply(("I write",), calls=cut, end="length"),
        WireReply(),
    ):
        end = reply_to(provider_wire, reply)[-1]
        with WireServer(provider_wire, Answer(provider_wire.pieces(reply))) as server:
            theirs = provider_wire.vendor_reply(server.url)
        if theirs is not None:
            calls = [(name, _arguments(text)) for name, text in theirs.calls]
            assert calls == [
                (call.name, None if call.error else dict(call.arguments)) for call in end.calls
            ]
            read = end.usage.input_tokens + end.usage.cache_read_tokens
            assert (theirs.text, theirs.input_tokens) == (end.text, read)
            assert theirs.output_tokens == end.usage.output_tokens


def _arguments(text: str) -> Any:
    """Return the arguments of a call, None for cut ones."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return None


# Networks


def test_bytes_may_come_in_any_pieces(provider_wire: ProviderWire) -> None:
    """Read a reply that arrives byte by byte, and one that is split at any byte."""
    reply = b"".join(provider_wire.pieces(WORK))
    cuts = range(1, len(reply), max(1, len(reply) // 40))
    bytewise = Answer([reply[place : place + 1] for place in range(len(reply))])
    halves = [Answer([reply[:cut], reply[cut:]]) for cut in cuts]
    with serving(provider_wire, bytewise, *halves) as (provider, _):
        expected = content(ask(provider)[-1])
        assert expected[0] == "I look."
        assert all(content(ask(provider)[-1]) == expected for _ in halves)


def test_a_reply_that_is_cut_is_an_error_or_whole(provider_wire: ProviderWire) -> None:
    """Raise ProviderError, or yield the whole reply, after a cut at any event."""
    pieces = provider_wire.pieces(WORK)
    expected = content(reply_to(provider_wire, WORK)[-1])
    failures = 0
    for count in range(len(pieces)):
        answer = Answer(pieces[:count], framing="close")
        with serving(provider_wire, answer) as (provider, _):
            try:
                assert content(ask(provider)[-1]) == expected
            except ProviderError:
                failures += 1
    assert failures


def test_a_cancel_in_the_middle_ends_the_stream_within_a_second(
    provider_wire: ProviderWire,
) -> None:
    """Stop a read that waits for a silent server."""
    answer = Answer([*provider_wire.pieces(HELLO)[:1], FOREVER])
    with serving(provider_wire, answer) as (provider, _):
        cancel = Cancel()
        timer = threading.Timer(0.3, cancel.set)
        timer.start()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            list(provider.stream(Request("", "", [QUESTION]), cancel))
        assert time.monotonic() - started < 0.3 + CANCEL_S
        timer.join()


def test_a_captive_portal_is_no_reply(provider_wire: ProviderWire) -> None:
    """Refuse the login page of a network without a retry."""
    page = Answer([b"<!DOCTYPE html><title>Log in</title>"], headers={"content-type": "text/html"})
    _, requests = failure_of(provider_wire, page, retries=2)
    assert requests == 1


def test_a_packed_bomb_is_refused_at_once(provider_wire: ProviderWire) -> None:
    """Refuse a response that decompresses to far more than its size."""
    packed = gzip.compress(bytes(LARGE_BYTES))
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    _, requests = failure_of(provider_wire, Answer([packed], headers=headers), retries=2)
    assert requests == 1


def test_a_large_reply_arrives_whole(provider_wire: ProviderWire) -> None:
    """Read ten megabytes of text in linear time."""
    reply = WireReply(["x" * 100_000] * (LARGE_BYTES // 100_000))
    assert len(reply_to(provider_wire, reply)[-1].text) == LARGE_BYTES


@pytest.mark.parametrize(
    ("status", "after"), [(408, ""), (429, "1"), (503, "date"), (529, ""), (500, "")]
)
def test_an_overloaded_server_is_asked_again(
    provider_wire: ProviderWire, status: int, after: str
) -> None:
    """Retry after a temporary failure, wait as long as the server asks, and yield Retrying."""
    headers = {"date": {"retry_after": formatdate(time.time() + 2, usegmt=True)}}
    busy = refusal(status, **headers.get(after, {"retry_after": after} if after else {}))
    answers = (busy, Answer(provider_wire.pieces(HELLO)))
    with serving(provider_wire, *answers, retries=1) as (provider, server):
        pieces = ask(provider)
        first, second = server.seen
    assert isinstance(pieces[0], Retrying)
    assert pieces[-1].text == "Hello."
    assert not after or second.at - first.at >= 0.9


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_is_refused_is_not_repeated(
    provider_wire: ProviderWire, status: int
) -> None:
    """Do not retry a request that would be refused again."""
    error, requests = failure_of(provider_wire, refusal(status), retries=3)
    assert requests == 1
    assert error.status == status


def test_a_wait_beyond_reason_is_not_waited(provider_wire: ProviderWire) -> None:
    """Fail at once, with the wait that the server asks for."""
    started = time.monotonic()
    busy = refusal(429, retry_after="86400")
    error, requests = failure_of(provider_wire, busy, retries=3)
    assert requests == 1
    assert "86,400" in str(error) or "86400" in str(error)
    assert time.monotonic() - started < 5 * CANCEL_S
