"""The cost of telemetry is measured, and every call of a run arrives. No time is asserted."""

import sys
from pathlib import Path

import pytest
import telemetry
from measure import Bench, make_repository


@pytest.mark.timeout(180)
def test_the_cost_of_telemetry_is_measured(tmp_path):
    bench = Bench(Path(sys.executable).parent, 1, tmp_path)
    make_repository(bench.work)
    with telemetry.collecting() as collector:
        telemetry.overhead(bench, 10, 0.0, collector)
    assert [row[0] for row in bench.rows] == [
        "10 calls, replies after 0 s: no telemetry",
        "10 calls, replies after 0 s: telemetry-log",
        "10 calls, replies after 0 s: telemetry-otel",
    ]
