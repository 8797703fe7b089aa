"""Commands that would end the process that runs them, and commands too long for the system."""

import os
import shutil

import pytest
from nanocoder import ToolError
from nanocoder_tool_bash.self_protection import refuse_own_end

needs_pgrep = pytest.mark.skipif(shutil.which("pgrep") is None, reason="pgrep is not installed")


@needs_pgrep
@pytest.mark.parametrize(
    "command",
    [
        "pkill -f pytest",
        "pkill -9 -f 'py.*test'",
        "true; pkill -KILL -f pytest",
        "pkill --signal=TERM -f pytest || true",
        'bash -c "pkill -f pytest"',
        "echo x\n/usr/bin/pkill -f pytest\n",
        pytest.param(f"pkill -P {os.getppid()}", id="pkill -P PARENT"),
    ],
)
def test_a_command_that_would_end_us_is_refused(shell, command):
    with pytest.raises(ToolError) as caught:
        shell(command)
    assert caught.value.error_class == "ends_nanocoder"


def test_a_name_that_is_ours_is_not_killed(shell):
    with open("/proc/self/comm") as file:
        name = file.read().strip()
    with pytest.raises(ToolError):
        refuse_own_end(f"killall {name}")


@pytest.mark.parametrize("command", ["echo pkill -f", "pkill nothing-so || true"])
def test_what_ends_others_runs(shell, command):
    assert shell(command).error_class == ""


@pytest.mark.parametrize("size", [131_072, 200_000, 2_000_000])
@pytest.mark.parametrize("background", [False, True])
def test_a_command_longer_than_the_system_takes_is_an_error(shell, size, background):
    with pytest.raises(ToolError) as caught:
        shell(f"true {'x' * size}", background=background)
    assert caught.value.error_class == "command_too_long"
