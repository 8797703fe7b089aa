"""A program that forks without end, in each sandbox."""

import os
import subprocess
import time

import pytest
from nanocoder_kit_process import environment
from nanocoder_kit_sandbox import Settings
from running_processes import processes_with
from sandbox_arrivals import await_path
from sandboxed_place import PYTHON, TIME_S, inside  # noqa: F401

FORKS = """
import os, time
end = time.monotonic() + 100
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        os.path.exists("full") or open("full", "w").close()
"""


# The system limits the processes of all users but root.
@pytest.mark.full
@pytest.mark.parametrize("box", ["nobody" if os.getuid() == 0 else "ourselves"], indirect=True)
def test_what_forks_without_end_ends_with_its_call(inside):  # noqa: F811
    program = inside.workspace / f"forks-{os.getpid()}.py"
    program.write_text(FORKS)
    box = inside.open(Settings(processes=300))
    argv = box.wrap([*PYTHON.split()[:3], program.name], ())
    with subprocess.Popen(argv, cwd=inside.workspace, env=environment(os.environ)) as process:
        await_path(inside.workspace / "full")
        time.sleep(1)  # until more of them fork than one at a time
        process.terminate()
        process.wait(TIME_S)
    until = time.monotonic() + 5  # the kernel ends what is in a namespace a moment later
    while processes_with(program.name) and time.monotonic() < until:
        time.sleep(0.1)
    assert not processes_with(program.name)
