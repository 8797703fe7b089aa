"""The measuring itself works, in a small tree: every figure is produced. No time is asserted."""

import os
import shutil
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


SMALL = ("--files", "300", "--bytes", "3000000", "--large", "30000000", "--runs", "1")


@pytest.mark.timeout(120)
def test_every_figure_of_the_searches_is_measured(tmp_path) -> None:
    done = measured(tmp_path, sys.executable)
    assert [name for name in FIGURES if name not in done] == []


@pytest.mark.timeout(120)
def test_without_ripgrep_all_but_its_figures_are_measured(tmp_path) -> None:
    """The wheel puts rg beside the interpreter, so one that stands elsewhere is used."""
    here = Path(sys.prefix)
    shutil.copy(here / "pyvenv.cfg", tmp_path)
    (tmp_path / "lib").symlink_to(here / "lib")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.symlink_to(Path(sys.executable).resolve())
    done = measured(tmp_path, str(python), PATH=str(tmp_path / "bin"))
    assert "ripgrep is not installed" in done
    assert [name for name in FIGURES if name not in done] == ["grep, ripgrep: a rare word"]
    assert "grep, ripgrep" not in done
    assert "rg --files" not in done


def measured(tmp_path: Path, python: str, **environment: str) -> str:
    """Return the figures of a small tree."""
    script = Path(__file__).with_name("search.py")
    done = subprocess.run(
        [python, script, tmp_path / "tree", *SMALL],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    return done.stdout
