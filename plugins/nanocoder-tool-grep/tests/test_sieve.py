"""The quick look at bytes never misses what the slow one finds."""

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nanocoder_tool_grep.sieve import make_fixed_sieve, make_sieve
from nanocoder_tool_grep.workers import BATCH_FILES, batches

contents = st.lists(st.sampled_from([*"abkKsi\0", "é", "\u212a", "\u017f", "\u0130"]), max_size=30)
needles = st.lists(st.text(st.sampled_from("abks"), min_size=1, max_size=5), max_size=3)


@pytest.mark.parametrize("platform", ["linux", "elsewhere"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(letters=contents, needles=needles, start=st.integers(0, 9), folds=st.booleans())
def test_a_sieve_passes_text_with_a_needle(monkeypatch, platform, letters, needles, start, folds):
    monkeypatch.setattr(sys, "platform", platform)
    text = "".join(letters)
    data = bytearray(b"\0" * 10 + text.encode())
    raw = tuple(needle.encode() for needle in needles)
    place = (10 - start, len(data))
    passed = make_fixed_sieve(raw, data, folds=folds)(*place)
    assert make_sieve(raw, folds=folds)(data, *place) == passed
    searched = text.replace("\u212a", "k").replace("\u017f", "s").lower() if folds else text
    has_needle = not needles or any(needle in searched for needle in needles)
    assert passed or not has_needle
    if not folds:
        assert passed == has_needle


def test_bytes_behind_the_end_are_not_searched():
    passes = make_fixed_sieve((b"needle",), bytearray(b"..needle.."), folds=False)
    assert passes(2, 8)
    assert passes(0, 10_000)
    assert not passes(3, 10)
    assert not passes(0, 7)


def test_batches_hold_all_names_in_their_order():
    folders = [("", ["a"]), ("b", [f"f{n}" for n in range(3 * BATCH_FILES)]), ("c", ["x", "y"])]
    cut = list(batches(folders))
    assert [sum(len(names) for _, names in batch) for batch in cut] == [BATCH_FILES] * 3 + [3]
    paths = [(folder, name) for batch in cut for folder, names in batch for name in names]
    assert paths == [(folder, name) for folder, names in folders for name in names]
