"""The measuring itself works: each kind of start ends well. No time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(300)
def test_starts_with_servers_are_measured() -> None:
    script = Path(__file__).with_name("mcp_start_times.py")
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {*rows} == {"--version", "--help", "tools", "run"}
    assert all(min(json.loads(figures).values()) > 0 for figures in rows.values())
