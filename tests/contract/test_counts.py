"""What a start and a turn take, in counts, which the machine does not change; and no more late.

`python tests/bench/calls.py` shows the counts of all kinds of calls, and instructions.
"""

import sys
from pathlib import Path

import pytest
from calls import Counts, Turns, between, counts
from measure import Bench, script

TURNS = 20
"""Turns that are counted together, early and late."""
START = {"functions": 116_000, "modules": 325, "files opened": 285, "threads started": 2}
"""The most until the first request, in an environment with every plugin here."""
FIRST_CALLS = {"functions": 134_000, "modules": 255}
"""The most that the first turns take in addition, in which tools and policies are imported."""
TURN = {
    "functions": 4_700,
    "files opened": 38,
    "files flushed": 6,
    "writes": 16,
    "hand-overs": 14,
    "texts searched": 30,
    "threads started": 0,
    "processes": 0,
    "modules": 0,
}
"""The most for a read or an edit, on average. New features pay by removing work."""
TEXTS_OF_A_LATE_CALL = 5
"""Most of what a later call reads, and all that is kept of it in the journal, was searched."""
GROWTH = 1.005
"""One more call for each message of the history would be 1.01."""


def reads_and_edits(count: int) -> Turns:
    """Return so many turns without a process, whose counts do not depend on the machine."""
    turns = (turn for turn in script(2 * count) if turn["calls"][0]["name"].endswith("_file"))
    return list(turns)[:count]


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> list[Counts]:
    """Return the counts of a long run, up to each of its requests."""
    bench = Bench(Path(sys.executable).parent, 1, tmp_path_factory.mktemp("counts"))
    bench.environment["NANOCODER_CONTEXT"] = "1000000"  # nothing is left out of the conversation
    for turns in (1, 1):  # the first start describes the plugins, and tries the sandbox
        counts(bench, reads_and_edits(turns))
    return counts(bench, reads_and_edits(4 * TURNS))


def over(most: dict[str, int], figures: Counts | dict[str, float]) -> dict[str, float]:
    """Return the figures that are higher than they may be."""
    return {name: figures.get(name, 0) for name in most if figures.get(name, 0) > most[name]}


@pytest.mark.timeout(300)
def test_a_start_takes_no_more_than_it_did(requests: list[Counts]) -> None:
    assert over(START, requests[0]) == {}


@pytest.mark.timeout(300)
def test_the_first_calls_take_no_more_than_they_did(requests: list[Counts]) -> None:
    first, next_ones = (
        between(requests[turns], requests[turns + TURNS], 1) for turns in (0, TURNS)
    )
    assert over(FIRST_CALLS, {name: first[name] - next_ones[name] for name in FIRST_CALLS}) == {}


@pytest.mark.timeout(300)
def test_a_turn_takes_no_more_than_it_did(requests: list[Counts]) -> None:
    assert over(TURN, between(requests[TURNS], requests[2 * TURNS], TURNS)) == {}


@pytest.mark.timeout(300)
def test_a_turn_takes_no_more_late_than_early(requests: list[Counts]) -> None:
    early, late = (
        between(requests[turns], requests[turns + TURNS], TURNS) for turns in (TURNS, 3 * TURNS)
    )
    assert late["functions"] <= early["functions"] * GROWTH
    assert late["hand-overs"] < early["hand-overs"] + 1
    assert late["texts searched"] <= TEXTS_OF_A_LATE_CALL
