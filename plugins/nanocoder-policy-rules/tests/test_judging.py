"""The bench of judging runs; how long it takes is recorded in docs/explanation/performance.md.

Times depend on the machine: these tests count the functions that are called instead.
"""

import gc
import os
import runpy
import sys
from pathlib import Path

import pytest
from nanocoder_policy_rules import shell_text

BENCH = runpy.run_path(str(Path(__file__).with_name("judging.py")))


def test_the_bench_judges_every_call_with_the_rules_that_it_says():
    rules = BENCH["rules"](50)
    assert sum(map(len, rules.values())) == 50
    durations = BENCH["microseconds"](50, repeat=1)
    assert durations.keys() == BENCH["CALLS"].keys()
    assert all(duration > 0 for duration in durations.values())


MOST_CALLS = 500
"""So many functions judge a command that was judged before."""
MOST_FIRST_CALLS = 760
"""So many judge one that is new."""
MOST_CALLS_OF_RULES = 30
"""So many of them may be there because of 500 rules that are about something else."""


@pytest.fixture(autouse=True)
def plain_path(monkeypatch):
    """Look for programs where a machine has them: links on the way to one take more steps."""
    monkeypatch.setenv("PATH", os.defpath)


@pytest.mark.parametrize("title", BENCH["CALLS"])
def test_five_hundred_rules_about_other_things_cost_nearly_nothing(title):
    without, with_rules = (_functions_called(title, count) for count in (5, 500))
    assert with_rules - without <= MOST_CALLS_OF_RULES


@pytest.mark.parametrize("title", [title for title in BENCH["CALLS"] if title.startswith("bash")])
def test_a_command_that_was_judged_before_is_judged_with_few_steps(title):
    assert _functions_called(title, 500) <= MOST_CALLS


def test_what_is_remembered_of_a_command_is_bounded():
    for number in range(shell_text.MAX_CACHED * 2):
        shell_text.parse(f"ls {number}")
    assert shell_text.parse.cache_info().currsize <= shell_text.MAX_CACHED


@pytest.mark.parametrize("title", [title for title in BENCH["CALLS"] if title.startswith("bash")])
def test_a_new_command_is_judged_with_few_steps(title):
    assert _functions_called(title, 500, is_new=True) <= MOST_FIRST_CALLS


def _functions_called(title, count, *, is_new=False):
    """Return how many functions of Python are called to judge a call once more.

    Once in a while `re` compiles an expression anew, since it keeps no more than 512.
    """
    return min(_count_once(title, count, is_new=is_new) for _ in range(2))


def _count_once(title, count, *, is_new):
    calls = 0

    def note(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    with BENCH["prepared"](count) as judge:
        for _ in range(3):
            judge(title)
        part = "a"
        if is_new:
            shell_text.parse.cache_clear()
            part = "new"
        gc.disable()  # what ends other tests' objects would be counted, too
        sys.setprofile(note)
        try:
            judge(title, part)
        finally:
            sys.setprofile(None)
            gc.enable()
    return calls
