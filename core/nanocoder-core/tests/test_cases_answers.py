"""Hostile cases of answers, against the program; names are the cases'."""

import json

import pytest

pytestmark = pytest.mark.timeout(60)
CUT = "the reply was cut off by the model's token limit"


def test_prov_060_an_answer_that_was_cut_is_not_told_as_whole(nanocoder):
    script = nanocoder.script({"text": "The first half", "truncated": True})
    done = nanocoder("run", "--model", script, "go")
    assert done.stdout == "The first half\n"
    assert CUT in done.stderr
    told = nanocoder("run", "--model", script, "--output", "json", "go")
    assert json.loads(told.stdout)["truncated"] is True


def test_prov_060_a_whole_answer_is_told_as_such(nanocoder):
    script = nanocoder.script({"text": "All of it."})
    told = nanocoder("run", "--model", script, "--output", "json", "go")
    assert json.loads(told.stdout)["truncated"] is False
    assert CUT not in told.stderr
