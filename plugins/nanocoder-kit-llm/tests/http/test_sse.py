import itertools
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import ProviderError
from nanocoder_kit_llm.http.sse import LineParser, SseEvent, SseParser

STREAM = (
    '\ufeffevent: first\ndata: {"text": "a\u2028b\u0085c\x0b\x0c\x1c\u00e9\U0001f600"}\n\n'
    ": ping\n\n"
    "data:no space\r\n\r\n"
    "data: one\rdata: two\rid: 7\rretry: 5\r\r"
    "data\n\n"
    "event: lonely\n\n"
    "unknown: x\ndata: last\n\n"
).encode()
EVENTS = [
    SseEvent("first", '{"text": "a\u2028b\u0085c\x0b\x0c\x1c\u00e9\U0001f600"}'.encode()),
    SseEvent("", b"no space"),
    SseEvent("", b"one\ntwo"),
    SseEvent("", b""),
    SseEvent("", b"last"),
]


def parse(chunks):
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()


def test_only_line_feeds_and_carriage_returns_end_a_line():
    assert parse([STREAM]) == EVENTS


def test_one_byte_at_a_time_gives_the_same_events():
    assert parse([bytes([byte]) for byte in STREAM]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_it_does_not_matter_where_the_stream_is_cut(cuts):
    edges = [0, *sorted(cuts), len(STREAM)]
    assert parse([STREAM[a:b] for a, b in itertools.pairwise(edges)]) == EVENTS


@given(st.binary(max_size=200), st.integers(1, 7))
def test_any_bytes_are_survived_and_cut_alike(noise, step):
    pieces = [noise[at : at + step] for at in range(0, len(noise), step)]
    assert parse(pieces) == parse([noise])


def test_an_event_is_handed_out_with_the_byte_that_completes_it():
    parser = SseParser()
    assert parser.feed(b"data: x\r") == []
    assert parser.feed(b"\r") == [SseEvent("", b"x")]
    assert parser.feed(b"\ndata: y\n") == []
    assert parser.feed(b"\n") == [SseEvent("", b"y")]


def test_a_stream_that_ends_without_an_empty_line_keeps_its_last_event():
    assert parse([b"data: [DONE]"]) == [SseEvent("", b"[DONE]", is_last=True)]


def test_a_line_without_end_is_given_up_at_the_limit():
    parser = SseParser(limit_bytes=1000)
    parser.feed(b"data: ")
    with pytest.raises(ProviderError, match="over 1,000 bytes") as caught:
        deque(map(parser.feed, [b"AAAA"] * 1000), maxlen=0)
    assert caught.value.kind == "protocol"


def test_many_lines_of_one_event_count_together():
    parser = SseParser(limit_bytes=1000)
    with pytest.raises(ProviderError, match="over 1,000 bytes"):
        deque(map(parser.feed, [b"data: AAAA\n"] * 1000), maxlen=0)


def test_an_event_of_several_megabytes_comes_through():
    line = b"data: " + b"x" * 8_000_000 + b"\n\n"
    chunks = [line[at : at + 65536] for at in range(0, len(line), 65536)]
    assert [len(event.data) for event in parse(chunks)] == [8_000_000]


def test_lines_are_events_wherever_they_are_cut():
    text = '{"a": "\u2028"}\n\n{"b": 2}\r\n{"c"'.encode()
    for cut in range(len(text)):
        parser = LineParser()
        events = [*parser.feed(text[:cut]), *parser.feed(text[cut:]), *parser.finish()]
        assert [event.data.strip() for event in events] == [
            '{"a": "\u2028"}'.encode(),
            b'{"b": 2}',
            b'{"c"',
        ]


def test_a_line_without_an_end_is_given_up():
    parser = LineParser(limit_bytes=10)
    with pytest.raises(ProviderError, match="over 10 bytes"):
        parser.feed(b"x" * 11)


@given(st.lists(st.sampled_from([b"data: a", b"data: ", b"data: b\ndata: c", b"event: x", b"\n"])))
def test_plain_events_are_split_as_those_of_several_lines_are(lines):
    stream = b"".join(line + b"\n\n" for line in lines)
    slow = SseParser()
    parts = [event for byte in stream for event in slow.feed(bytes([byte]))]
    assert parse([stream]) == parts + slow.finish()
