"""The cost of telemetry is measured by whole processes. No time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(180)
def test_the_cost_of_telemetry_is_measured():
    script = Path(__file__).with_name("telemetry.py")
    words = ("--calls", "5", "--runs", "1", "--answer-ms", "1")
    done = subprocess.run(
        [sys.executable, str(script), *words], capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)
    assert figures["calls"] == 5
    assert figures["cpu_s"]["with"] > figures["cpu_s"]["without"]  # its library was loaded
