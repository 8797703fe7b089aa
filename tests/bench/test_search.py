"""The measuring itself works, in a small tree: every figure is produced. No time is asserted."""

import subprocess
import sys
from pathlib import Path

import pytest

FIGURES = (
    "grep, ripgrep: a rare word",
    "grep, python: no word in it",
    "glob: **/*.go",
    "list_files, 2 levels",
    "grep, python: peak memory",
    "code_map: second session",
)


@pytest.mark.timeout(120)
def test_every_figure_of_the_searches_is_measured(tmp_path) -> None:
    script = Path(__file__).with_name("search.py")
    small = ("--files", "300", "--bytes", "3000000", "--large", "30000000", "--runs", "1")
    command = [sys.executable, str(script), str(tmp_path / "tree"), *small]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [name for name in FIGURES if name not in done.stdout] == []
