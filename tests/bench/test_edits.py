"""The measuring of edits and reads works: every figure is produced. No time is asserted."""

import subprocess
import sys
from pathlib import Path

import pytest

FIGURES = (
    "read 50 lines of 1 GB at the beginning",
    "edit a line of 5 MB",
    "ten edits of 5 MB in one call",
    "fuzzy anchor in 20,000 lines",
    "read 50 lines of 5 MB",
)


@pytest.mark.timeout(300)
def test_every_figure_is_measured() -> None:
    script = Path(__file__).with_name("edits.py")
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "2"], capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [name for name in FIGURES if name not in done.stdout] == []
