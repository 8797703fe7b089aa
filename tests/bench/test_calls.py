"""A late call of a run costs what an early one does: its counts do not grow with the session."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from calls import CALLS, COUNTED, FUNCTIONS, Turns, counts
from measure import Bench, script

TEXTS_OF_AN_EARLY_CALL = 30
"""Texts searched for secrets: a result of 40 lines as one, and each of its lines in the data."""
TEXTS_OF_A_LATE_CALL = 5
"""Most of what a later call reads, and all that is kept of it in the journal, was searched."""
FUNCTIONS_OF_A_TURN = 4_700
"""Functions of Python that are called for a read or an edit, with every plugin here."""
FUNCTIONS_OF_A_START = 285_000
"""The same for a start and the first calls of tools. New features pay by removing work."""
GROWTH = 1.005
"""One more call for each message of the history would be 1.01."""


@pytest.mark.timeout(300)
def test_late_calls_cost_no_more_than_early_ones(tmp_path: Path) -> None:
    bench = Bench(Path(sys.executable).parent, 1, tmp_path)
    counts(bench, script(1))
    runs = [counts(bench, script(number * CALLS)) for number in (1, 2, 3, 4)]
    hand_overs, texts = (
        [(after[name] - before[name]) / CALLS for before, after in pairwise(runs)]
        for name in COUNTED
    )
    assert max(hand_overs) < min(hand_overs) + 1  # a conversation that is shortened is an event
    assert texts[0] <= TEXTS_OF_AN_EARLY_CALL
    assert max(texts[1:]) <= TEXTS_OF_A_LATE_CALL


def reads_and_edits(count: int) -> Turns:
    """Return so many turns without a process, whose counts do not depend on the machine."""
    turns = (turn for turn in script(2 * count) if turn["calls"][0]["name"].endswith("_file"))
    return list(turns)[:count]


@pytest.mark.timeout(300)
def test_a_turn_calls_no_more_functions_late_than_early(tmp_path: Path) -> None:
    bench = Bench(Path(sys.executable).parent, 1, tmp_path)
    counts(bench, script(1))
    bench.environment["NANOCODER_CONTEXT"] = "1000000"  # nothing is left out of the conversation
    runs = [counts(bench, reads_and_edits(turns))[FUNCTIONS] for turns in (30, 60, 90)]
    early, late = ((after - before) / 30 for before, after in pairwise(runs))
    assert late <= early * GROWTH
    assert early <= FUNCTIONS_OF_A_TURN
    assert runs[0] - 30 * early <= FUNCTIONS_OF_A_START
