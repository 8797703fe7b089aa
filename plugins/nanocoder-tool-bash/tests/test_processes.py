import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from nanocoder import Cancel
from nanocoder_tool_bash import Settings

PR_GET_CHILD_SUBREAPER = 37
ATTEMPTS = 10
"""As a busy machine may let a process wait for its turn longer than the test is about."""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a subreaper")


def took(call):
    began = time.monotonic()
    result = call()
    return result, time.monotonic() - began


# PROC-002
@pytest.mark.contract("NT-32b")
@pytest.mark.contract("MA-04")
def test_a_timeout_ends_the_whole_group_and_keeps_the_output(shell, seconds, is_running):
    result, duration_s = took(lambda: shell(f"echo before; sleep {seconds}; echo x", timeout=0.5))
    assert duration_s < 4.5
    assert (result.is_error, result.error_class) == (True, "timeout")
    assert result.output.startswith("before\n[timed out after 0.5 s")
    assert result.metadata["timed_out"] is True
    assert not is_running(seconds)


# PROC-003
@linux_only
def test_a_child_with_its_own_session_dies_at_the_timeout(shell, seconds, is_running):
    shell(f"setsid sleep {seconds} & sleep 300", timeout=0.3)
    assert not is_running(seconds)


@linux_only
def test_a_child_that_cleared_its_environment_dies_at_the_timeout(shell, seconds, is_running):
    shell(f"env -i setsid sleep {seconds} & sleep 300", timeout=0.3)
    assert not is_running(seconds)


# PROC-005
@pytest.mark.parametrize(
    "command",
    [
        "sleep {0} &",
        "setsid sleep {0} &",
        "nohup sleep {0} >/dev/null 2>&1 &",
        "(setsid setsid sleep {0} >/dev/null 2>&1 &) &",
        "set -m; sleep {0} & disown",
        "(env -i setsid sleep {0} >/dev/null 2>&1 &)",
        "(trap '' TERM INT HUP; sleep {0}; sleep {0}) >/dev/null 2>&1 &",
    ],
)
@linux_only
def test_what_runs_in_the_background_ends_with_the_call(command, shell, seconds, is_running):
    before = zombies()
    result, duration_s = took(lambda: shell(command.format(seconds)))
    assert duration_s < 4.5
    assert not is_running(seconds)
    assert not result.is_error
    assert result.metadata["ended"]
    assert "ended with the call: " in result.output
    assert zombies() <= before


@linux_only
def test_a_daemon_that_forks_twice_ends_and_leaves_no_zombie(shell, seconds, is_running):
    script = (
        "import os, sys\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"os.execvp('sleep', ['sleep', '{seconds}'])\n"
    )
    (shell.root / "daemon.py").write_text(script)
    before = zombies()
    shell(f"{sys.executable} daemon.py >/dev/null 2>&1; sleep 0.2")
    assert not is_running(seconds)
    assert zombies() <= before


def zombies():
    zombie_ids = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                zombie_ids.add(entry.name)
    return zombie_ids


@linux_only
def test_nobody_elses_processes_are_touched(shell):
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as mine:
        shell("sleep 50 & setsid sleep 51 &")
        assert mine.poll() is None
        mine.kill()
        assert mine.wait() == -9, "its exit status is still ours to read"


def test_a_child_that_keeps_the_pipe_open_does_not_hold_the_call(shell, seconds):
    attempts = (took(lambda: shell(f"echo done; sleep {seconds} &")) for _ in range(ATTEMPTS))
    result = next(result for result, duration_s in attempts if duration_s < 1.5)
    assert result.output.startswith("done")


def test_output_of_a_child_just_after_the_end_is_still_read(shell):
    outputs = (shell("(sleep 0.02; echo late) & echo early").output for _ in range(ATTEMPTS))
    assert any("late" in output for output in outputs)


@pytest.mark.contract("MA-04")
def test_a_command_that_ignores_interrupts_is_terminated_and_then_killed(
    shell, is_running, seconds
):
    shell.settings = Settings(interrupt_grace_s=0.2, terminate_grace_s=0.2)
    stubborn = f"trap '' INT TERM; sleep {seconds}; sleep {seconds}"
    result, duration_s = took(lambda: shell(stubborn, timeout=0.2))
    assert 0.5 < duration_s < 5
    assert result.error_class == "timeout"
    assert not is_running(seconds)


@pytest.mark.contract("MA-04")
def test_a_command_may_tidy_up_when_interrupted(shell):
    grace = Settings()
    assert grace.interrupt_grace_s + grace.terminate_grace_s == 5
    tidy = "trap 'echo tidy; exit 0' INT; sleep 60 & wait"
    assert any("tidy" in shell(tidy, timeout=0.3).output for _ in range(ATTEMPTS))


@pytest.mark.contract("NA-46")
def test_a_cancelled_command_ends_within_a_second(shell, seconds, is_running):

    def cancel_when_begun():
        while not shell.pieces:
            time.sleep(0.01)
        cancelled.append(time.monotonic())
        shell.cancel.set()

    cancelled = []
    threading.Thread(target=cancel_when_begun, daemon=True).start()
    stubborn = f"trap '' INT TERM; echo begun; sleep {seconds}; sleep {seconds}"
    result = shell(stubborn)
    assert time.monotonic() - cancelled[0] < 4  # where nothing is in a hurry it takes 5
    assert result.output == "begun\n[stopped by the user]"
    assert (result.is_error, result.error_class) == (True, "cancelled")
    assert not is_running(seconds)


def test_a_plain_command_is_cancelled_at_once(shell):
    def seconds_until_the_end():
        shell.cancel = Cancel()
        threading.Timer(0.1, shell.cancel.set).start()
        return took(lambda: shell("sleep 60"))[1]

    assert any(seconds_until_the_end() < 0.5 for _ in range(ATTEMPTS))


@pytest.mark.contract("MA-06")
@pytest.mark.contract("NT-32b")
def test_standard_input_is_empty(shell):
    assert shell("cat; echo end").output == "end"


# PROC-017
def test_there_is_no_terminal_to_ask_on(shell):
    result, duration_s = took(lambda: shell('read -p "password: " x </dev/tty; echo got=$x'))
    assert duration_s < 20
    assert "got=\n" in result.output


# PROC-022
@linux_only
def test_a_command_inherits_no_descriptors_of_ours(shell):
    with (shell.root / "open").open("w") as handle:
        os.set_inheritable(handle.fileno(), True)
        names = shell("ls /proc/self/fd").output.split()
    assert names == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


# CONC-013
@pytest.mark.timeout(30)
def test_eight_commands_at_the_same_time_keep_apart(shell, seconds, is_running):
    results = {}

    def run(number):
        results[number] = shell(
            f"setsid sleep {seconds} & for i in 1 2 3; do echo {number}; sleep 0.1; done"
        )

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        assert results[number].data["stdout"] == f"{number}\n" * 3
        assert results[number].data["exit_code"] == 0
    assert not is_running(seconds)


def test_a_call_leaves_no_descriptor_and_no_thread_behind(shell):
    shell("true")
    before = descriptors(), threading.active_count()
    shell("seq 1 100000; sleep 30 &", timeout=0.3)
    assert (descriptors(), threading.active_count()) == before


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@linux_only
def test_the_first_call_makes_us_the_reaper_and_closes_our_memory_to_children(shell):
    shell("true")
    reaper = ctypes.c_int()
    libc = ctypes.CDLL(None)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(reaper))
    assert reaper.value == 1
    assert libc.prctl(3, 0, 0, 0, 0) == 0, "PR_GET_DUMPABLE"


def test_a_call_that_was_cancelled_before_it_began_runs_nothing(shell):
    shell.cancel = Cancel()
    shell.cancel.set()
    with pytest.raises(Exception, match="interrupted"):
        shell("touch made")
    assert not (shell.root / "made").exists()


RUNNER = """
import sys
from pathlib import Path
from nanocoder import Cancel, ToolContext, Workspace
from nanocoder_tool_bash import Settings, bash
from nanocoder_tool_bash.jobs import open_jobs

root = Path.cwd()
ctx = ToolContext(
    session_id="s",
    message_id="call-1",
    workspace=Workspace(root),
    working_directory=root,
    cancelled=Cancel(),
    settings=Settings(),
    resource=lambda _: open_jobs(),
)
bash.invoke(ctx, bash.signature.check({"command": sys.argv[1]}))
"""


# PROC-008
@pytest.mark.parametrize("command", ["sleep {0}", "sleep {0} & sleep {0}; true"])
def test_a_command_ends_when_we_are_killed(command, tmp_path, seconds, is_running):
    words = [sys.executable, "-c", RUNNER, command.format(seconds)]
    with subprocess.Popen(words, cwd=tmp_path) as runner:
        assert wait_until(lambda: is_running(seconds))
        runner.kill()
    assert wait_until(lambda: not is_running(seconds))


def wait_until(condition):
    """Return what *condition* says in the end, at the latest after five seconds."""
    end = time.monotonic() + 40
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@linux_only
@pytest.mark.parametrize(
    "command",
    [
        "kill $PPID",
        "kill -9 $PPID",
        "kill -9 $(ps -o ppid= -p $$)",
        f"exec {sys.executable} -c 'import os; os.kill(os.getppid(), 15)'",
        f"{sys.executable} -c 'import os; os.kill(os.getppid(), 9)'",
        "kill -INT 0",
        'kill -HUP -- "-$(ps -o pgid= -p $$ | tr -d " ")"',
    ],
)
def test_a_command_that_signals_its_parent_does_not_reach_ours(shell, command):
    received = []
    handlers = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    try:
        shell(f"{command}; sleep 0.05")
        assert shell("echo still here").output == "still here"
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert not received


def test_a_polite_signal_to_the_parent_leaves_the_command_running(shell):
    assert shell("kill $PPID; echo survived").output == "survived"


def test_the_end_of_a_program_by_a_signal_is_no_word_of_a_shell(shell):
    output = shell(f"exec {sys.executable} -c 'import os; os.kill(os.getpid(), 11)'").output
    assert output == "[exit code 139, as after signal SIGSEGV]"
