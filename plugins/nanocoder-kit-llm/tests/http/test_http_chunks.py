from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_llm.http.http_chunks import ChunkJoiner

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data, size=b"%x"):
    return size % len(data) + b"\r\n" + data + b"\r\n"


def read(pieces):
    """Return the body that h11 reads, in how many parts, and "" or why it refuses the answer."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("Host", "example.org")]))
    client.send(h11.EndOfMessage())
    body = []
    try:
        for piece in [*pieces, b""]:
            client.receive_data(piece)
            while (event := client.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.EndOfMessage):
                    return b"".join(body), len(body), ""
                if isinstance(event, h11.Data):
                    body.append(bytes(event.data))
    except h11.RemoteProtocolError as error:
        return b"".join(body), len(body), str(error)
    raise AssertionError("the answer has no end")


def joined(pieces):
    joiner = ChunkJoiner()
    ready = [joiner.feed(piece) for piece in pieces]
    return [piece for piece in [*ready, joiner.finish()] if piece]


def cut(data, places):
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=12),
    st.sampled_from([b"%x", b"%X", b"%04x"]),
    st.lists(st.integers(0, 700), max_size=12),
)
def test_h11_reads_the_same_however_an_answer_is_cut(bodies, size, places):
    answer = HEAD + b"".join(chunk(body, size) for body in bodies) + LAST
    pieces = cut(answer, places)
    assert read(joined(pieces))[::2] == read(pieces)[::2] == (b"".join(bodies), "")


def test_every_single_cut_reads_the_same():
    answer = HEAD + chunk(b"one\r\n") + chunk(b"2\r\n") + chunk(b"x" * 300) + LAST
    for place in range(len(answer)):
        assert read(joined([answer[:place], answer[place:]]))[0] == b"one\r\n2\r\n" + b"x" * 300
    one_by_one = [bytes([byte]) for byte in answer]
    assert read(joined(one_by_one))[0] == b"one\r\n2\r\n" + b"x" * 300


def test_chunks_that_arrive_together_are_handed_on_as_one():
    answer = HEAD + chunk(b"data: {}\n\n") * 5_000 + LAST
    body, parts, _ = read(joined([answer]))
    assert body == b"data: {}\n\n" * 5_000
    assert parts == 1
    assert read([answer])[1] == 5_000


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"5;a=b\r\nhello\r\n" + chunk(b"more") + LAST,
        HEAD + chunk(b"hello") + b"0\r\nChecksum: 7\r\n\r\n",
        HEAD.replace(b"200 OK", b"204 No Content") + chunk(b"x") + LAST,
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + chunk(b"hello") + LAST,
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"hello") + LAST,
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + chunk(b"hello") + LAST,
    ],
    ids=["extension", "trailer", "no body", "early", "http 1.0", "length", "until the end"],
)
def test_an_answer_of_another_form_stays_as_it_is(answer):
    for size in (1, 7, len(answer)):
        pieces = [answer[start : start + size] for start in range(0, len(answer), size)]
        assert read(joined(pieces))[::2] == read(pieces)[::2]


@pytest.mark.parametrize(
    "damage",
    [b"zz\r\nhello\r\n", b"5\r\nhelloXX", b"-5\r\nhello\r\n", b"5\nhello\r\n", b"5\r\nhel", b"5"],
)
def test_h11_refuses_damage_as_before(damage):
    answer = HEAD + chunk(b"sound") + damage
    body, _, problem = read(joined([answer]))
    assert problem == read([answer])[2] != ""
    assert body.startswith(b"sound")


def test_the_next_answer_of_a_connection_has_a_head_again():
    joiner = ChunkJoiner()
    for _ in range(3):
        joiner.restart()
        assert joiner.feed(HEAD + chunk(b"a") + chunk(b"b") + LAST) == HEAD + chunk(b"ab") + LAST
