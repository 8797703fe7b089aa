"""Long replies: what is counted is asserted, no time is."""

import sys
from pathlib import Path

import pytest
import streaming
from measure import Bench, make_repository, serving

MEGABYTE = 1_000_000


@pytest.fixture
def bench(tmp_path):
    session = Bench(Path(sys.executable).parent, 1, tmp_path)
    make_repository(session.work)
    return session


@pytest.mark.timeout(300)
def test_a_long_reply_is_held_once_and_nothing_grows_with_its_pieces():
    held = streaming.held(sys.executable, deltas=60_000, letters=60)
    assert held["text"] > 3 * MEGABYTE
    # A second copy would grow by three quarters of the text.
    assert held["end"] - held["quarter"] < 0.3 * held["text"]
    # The text, and once more while it is joined, and while each of two records of the journal is
    # written; some modules are imported late. Another copy at the same time would make it 3.
    assert held["peak"] - held["end"] < 2.4 * held["text"]


@pytest.mark.timeout(300)
def test_a_terminal_is_repainted_at_most_once_in_16_ms(bench):
    with serving([{"text": "word{i} ", "deltas": 20_000}]) as server:
        shown = streaming.show(bench, bench.ask(server.port))
    assert shown.words.keys() >= {0, 19_999}
    assert shown.frames <= shown.seconds / streaming.FRAME_S


@pytest.mark.timeout(300)
def test_the_figures_of_long_replies_are_measured(bench):
    streaming.latency(bench, 5)
    streaming.headless(bench, 2_000, 500, "arriving together")
    streaming.frames(bench, 2_000)
    streaming.memory(bench, 20_000)
    streaming.session(bench, 200)
    assert [row[0] for row in bench.rows] == [
        "a piece, from the socket to the screen",
        "2,000 deltas, headless, arriving together",
        "2,000 deltas in a terminal",
        "20,000 deltas, memory",
        "its text in 2,000 deltas, memory",
        "200 turns, the last quarter over the first",
    ]
