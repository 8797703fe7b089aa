"""The bench of judging runs; how long it takes is recorded in docs/explanation/performance.md."""

import runpy
from pathlib import Path

BENCH = runpy.run_path(str(Path(__file__).with_name("judging.py")))


def test_the_bench_judges_every_call_with_the_rules_that_it_says():
    rules = BENCH["rules"](50)
    assert sum(map(len, rules.values())) == 50
    durations = BENCH["microseconds"](50, repeat=1)
    assert durations.keys() == BENCH["CALLS"].keys()
    assert all(duration > 0 for duration in durations.values())
