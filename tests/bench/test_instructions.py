"""Counting the instructions of one prompt works. No count is asserted."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_prompt_is_counted_beside_the_floor() -> None:
    script = Path(__file__).with_name("instructions.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["the", "one", "ratio"]
