"""A late call of a run costs what an early one does: its counts do not grow with the session."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from calls import CALLS, COUNTED, counts
from measure import Bench

TEXTS_OF_AN_EARLY_CALL = 30
"""Texts searched for secrets: a result of 40 lines as one, and each of its lines in the data."""
TEXTS_OF_A_LATE_CALL = 5
"""Most of what a later call reads, and all that is kept of it in the journal, was searched."""


@pytest.mark.timeout(300)
def test_late_calls_cost_no_more_than_early_ones(tmp_path: Path) -> None:
    bench = Bench(Path(sys.executable).parent, 1, tmp_path)
    counts(bench, 1)
    runs = [counts(bench, number * CALLS) for number in (1, 2, 3, 4)]
    hand_overs, texts = (
        [(after[name] - before[name]) / CALLS for before, after in pairwise(runs)]
        for name in COUNTED
    )
    assert max(hand_overs) < min(hand_overs) + 1  # a conversation that is shortened is an event
    assert texts[0] <= TEXTS_OF_AN_EARLY_CALL
    assert max(texts[1:]) <= TEXTS_OF_A_LATE_CALL
