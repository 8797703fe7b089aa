"""The measuring itself works: every figure of the table is produced. No time is asserted."""

import subprocess
import sys
from pathlib import Path

import pytest

FIGURES = (
    "--version",
    "--help",
    "one prompt, one reply",
    "exec to first request",
    "last reply to exit",
    "requests for one prompt",
    "first request",
    "tool turn, median of 200",
    "peak memory after 200 turns",
    "first tool turn, after a reply of 0.5 s",
)


@pytest.mark.timeout(600)
def test_every_figure_is_measured() -> None:
    script = Path(__file__).with_name("measure.py")
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "3"], capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [name for name in FIGURES if name not in done.stdout] == []
