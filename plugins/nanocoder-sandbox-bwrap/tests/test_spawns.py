"""How long a process takes to start and end in the sandbox; run as a program, it prints that.

As a test it only shows that each figure is measured: no time is asserted.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.bubblewrap import NO_NETWORK, base, system
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_spawns import PROGRAM, RUNS, quickest, steps_of

MOUNT_OPTIONS = ("--bind", "--ro-bind", "--ro-bind-try", "--tmpfs", "--dev", "--proc")


@pytest.fixture
def repository_box(tmp_path, monkeypatch):
    """Return the sandbox of a session in a new repository, of a person who has nothing to hide."""
    folder = tmp_path / "workspace"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.defpath)
    box = Bubblewrap(SessionInfo("bench", folder), Settings())
    yield box
    box.close()


def measure(runs: int = RUNS) -> dict[str, float]:
    """Return the milliseconds of a process without a sandbox, in bare ones, and in a session's.

    The second bare one has the session's mounts, without its shells and its filter of calls.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        box = Bubblewrap(SessionInfo("bench", folder), Settings())
        bare = [*base(), NO_NETWORK, *system(), *PROGRAM]
        with_mounts = [*base(), *options_of(box.wrap(PROGRAM, ())), *PROGRAM]
        try:
            return {
                "no sandbox": quickest(lambda: PROGRAM, folder, runs),
                "bubblewrap alone": quickest(lambda: bare, folder, runs),
                "with the mounts": quickest(lambda: with_mounts, folder, runs),
                "may write": quickest(lambda: box.wrap(PROGRAM, ()), folder, runs, box.changes),
                "may read": quickest(
                    lambda: box.wrap(PROGRAM, (), Access.READ), folder, runs, box.changes
                ),
            }
        finally:
            box.close()


def options_of(argv: list[str]) -> list[str]:
    """Return the options of bubblewrap that show files, without layers over caches."""
    start = argv.index("--ro-bind")
    options = argv[start : argv.index("--", start)]
    layers = [at for at, word in enumerate(options) if "/layers/" in word]
    kept = (at for at in range(len(options)) if not {at - 1, at, at + 1} & set(layers))
    return [NO_NETWORK, *(options[at] for at in kept)]


@pytest.mark.needs("bwrap")
def test_each_figure_is_measured():
    figures = measure(runs=2)
    assert list(figures) == [
        *("no sandbox", "bubblewrap alone", "with the mounts", "may write", "may read"),
    ]
    assert all(milliseconds > 0 for milliseconds in figures.values())


SHELLS = 2
"""One opens the filter of calls; one sets the limits, and names what is left running."""
MOUNTS = 30
"""So many options that show a place; bubblewrap reads the table of all mounts for nearly each."""
STEPS = 1_150
"""So many functions of Python prepare a command in a folder that did not change."""


@pytest.mark.needs("bwrap")
def test_a_command_in_a_session_takes_few_shells_and_mounts(repository_box):
    argv = repository_box.wrap(PROGRAM, ())
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "/bin/sh"].count("-c") == SHELLS
    assert sum(word in MOUNT_OPTIONS for word in argv) <= MOUNTS


@pytest.mark.needs("bwrap")
def test_a_command_is_prepared_with_few_steps(repository_box):
    steps = steps_of(lambda: repository_box.wrap(PROGRAM, ()))
    assert steps <= STEPS, steps


if __name__ == "__main__":
    for what, milliseconds in measure().items():
        sys.stdout.write(f"{what:24} {milliseconds:6.1f} ms\n")
