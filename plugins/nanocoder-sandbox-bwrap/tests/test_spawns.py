"""How long a process takes to start and end in the sandbox; run as a program, it prints that.

As a test it only shows that each figure is measured: no time is asserted.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.bubblewrap import NO_NETWORK, base, system
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_spawns import PROGRAM, RUNS, quickest


def measure(runs: int = RUNS) -> dict[str, float]:
    """Return the milliseconds of a process without a sandbox, in a bare one, and in a session's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        box = Bubblewrap(SessionInfo("bench", folder), Settings())
        bare = [*base(), NO_NETWORK, *system(), *PROGRAM]
        try:
            return {
                "no sandbox": quickest(lambda: PROGRAM, folder, runs),
                "bubblewrap alone": quickest(lambda: bare, folder, runs),
                "bubblewrap of a session": quickest(lambda: box.wrap(PROGRAM, ()), folder, runs),
            }
        finally:
            box.close()


@pytest.mark.needs("bwrap")
def test_each_figure_is_measured():
    figures = measure(runs=2)
    assert list(figures) == ["no sandbox", "bubblewrap alone", "bubblewrap of a session"]
    assert all(milliseconds > 0 for milliseconds in figures.values())


if __name__ == "__main__":
    for what, milliseconds in measure().items():
        sys.stdout.write(f"{what:24} {milliseconds:6.1f} ms\n")
