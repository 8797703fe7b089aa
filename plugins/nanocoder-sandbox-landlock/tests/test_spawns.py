"""How long a process takes to start and end in the sandbox; run as a program, it prints that.

As a test it only shows that each figure is measured: no time is asserted.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandbox_spawns import PROGRAM, RUNS, quickest, steps_of


def measure(runs: int = RUNS) -> dict[str, float]:
    """Return the milliseconds of a process without a sandbox, of Python alone, and in Landlock."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        box = Landlocked(SessionInfo("bench", folder), Settings())
        bare = [sys.executable, "-I", "-S", "-c", "pass"]
        try:
            return {
                "no sandbox": quickest(lambda: PROGRAM, folder, runs),
                "Python that does nothing": quickest(lambda: bare, folder, runs),
                "Landlock of a session": quickest(lambda: box.wrap(PROGRAM, ()), folder, runs),
            }
        finally:
            box.close()


def test_each_figure_is_measured():
    figures = measure(runs=2)
    assert list(figures) == ["no sandbox", "Python that does nothing", "Landlock of a session"]
    assert all(milliseconds > 0 for milliseconds in figures.values())


STEPS = 400
"""So many functions of Python prepare a command in a folder that did not change."""


def test_a_command_is_prepared_with_few_steps(tmp_path, monkeypatch):
    folder = tmp_path / "workspace"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.defpath)
    box = Landlocked(SessionInfo("bench", folder), Settings())
    steps = steps_of(lambda: box.wrap(PROGRAM, ()))
    box.close()
    assert steps <= STEPS, steps


if __name__ == "__main__":
    for what, milliseconds in measure().items():
        sys.stdout.write(f"{what:24} {milliseconds:6.1f} ms\n")
