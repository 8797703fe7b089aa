"""The measuring itself works: both programs call the server. No time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(300)
def test_the_first_call_is_measured() -> None:
    script = Path(__file__).with_name("mcp_first_call.py")
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {*figures} == {"nanocoder_ms", "sdk_ms", "ratio", "processor_ratio"}
    assert min(figures.values()) > 0
