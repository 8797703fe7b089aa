"""The measuring itself works, in a small tree: every figure is produced. No time is asserted."""

import subprocess
import sys
from pathlib import Path

import pytest

FIGURES = (
    "grep: a rare word",
    "grep: no word in it",
    "glob: **/*.go",
    "list_files, 2 levels",
    "grep: peak memory",
    "code_map: second session",
)


SMALL = ("--files", "300", "--bytes", "3000000", "--large", "30000000", "--runs", "1")


@pytest.mark.timeout(120)
def test_every_figure_of_the_searches_is_measured(tmp_path) -> None:
    done = measured(tmp_path)
    assert [name for name in FIGURES if name not in done] == []


def measured(tmp_path: Path) -> str:
    """Return the figures of a small tree."""
    script = Path(__file__).with_name("search.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path / "tree", *SMALL],
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    return done.stdout
