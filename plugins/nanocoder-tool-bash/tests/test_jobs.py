"""Commands in the background: started, read, ended, and never left behind."""

import os
import signal
import subprocess
import sys
import time

import nanocoder_tool_bash
import pytest
from nanocoder import ApprovalAnswer, Cancelled, SessionInfo, ToolCall, ToolError
from nanocoder_testing import opened
from nanocoder_tool_bash import nanocoder_render
from nanocoder_tool_bash.jobs import MAX_JOBS

pytestmark = pytest.mark.timeout(30)


def start(shell, command):
    return shell(command, background=True).data["id"]


def read_until(shell, job, expected):
    """Read until *expected* was printed; returns all that was read."""
    output = ""
    until = time.monotonic() + 40
    while expected not in output:
        assert time.monotonic() < until, output
        output += shell.job("read", id=job, wait=1).output
    return output


def wait_until(condition):
    until = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def test_a_job_is_started_at_once_and_its_output_is_read_piece_by_piece(shell):
    job = start(shell, "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two")
    first = read_until(shell, job, "one")
    assert "[running]" in first
    (shell.root / "go").touch()
    rest = read_until(shell, job, "[ended with exit code 0]")
    assert "two" in rest
    assert "one" not in rest


def test_what_was_read_to_its_end_is_gone(shell):
    job = start(shell, "exit 3")
    assert "exit code 3" in read_until(shell, job, "ended")
    with pytest.raises(ToolError) as caught:
        shell.job("read", id=job)
    assert caught.value.error_class == "unknown_job"
    assert shell.job("list").output == "There are no jobs."


def test_both_streams_and_long_last_words_are_read(shell):
    job = start(shell, "echo out; echo err >&2; head -c 7000 /dev/zero | tr '\\0' x")
    wait_until(lambda: "ended" in shell.job("list").output)
    output = shell.job("read", id=job).output
    assert {"out", "err", "x" * 7_000} <= set(output.splitlines())


# PROC-031
def test_output_that_comes_too_fast_loses_its_beginning_and_says_so(shell):
    job = start(shell, "seq 200000; echo last")
    wait_until(lambda: "ended" in shell.job("list").output)
    output = shell.job("read", id=job).output
    assert "bytes before this came too fast and are lost" in output
    assert "characters before this are left out" in output
    assert "last\n[ended with exit code 0]" in output


def test_half_a_character_waits_for_its_other_half(shell):
    job = start(
        shell, "printf 'a\\xc3'; while [ ! -e go ]; do sleep 0.02; done; printf '\\xa4z\\xff'"
    )
    assert read_until(shell, job, "a").startswith("a\n")
    (shell.root / "go").touch()
    assert "äz\ufffd" in read_until(shell, job, "ended")


def test_jobs_are_listed_with_state_and_command(shell):
    first, second = start(shell, "sleep 300"), start(shell, "exit 4")
    wait_until(lambda: "exit code 4" in shell.job("list").output)
    listed = shell.job("list")
    assert [job["id"] for job in listed.data["jobs"]] == [first, second]
    assert listed.output.splitlines()[0].startswith(f"{first}: running, ")
    assert listed.output.splitlines()[0].endswith(": sleep 300")


def test_killing_a_job_ends_everything_it_started(shell, seconds, is_running):
    job = start(shell, f"setsid sleep {seconds} & echo started; sleep {seconds}")
    read_until(shell, job, "started")
    assert "were ended" in shell.job("kill", id=job).output
    assert not is_running(seconds)


def test_killing_a_job_ends_what_a_thread_of_it_started_and_what_ignores_it(
    shell, seconds, is_running
):
    (shell.root / "stubborn.py").write_text(
        "import signal, subprocess, threading\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"start = lambda: subprocess.run(['sleep', '{seconds}'], start_new_session=True)\n"
        "threading.Thread(target=start).start()\n"
    )
    job = start(shell, f"trap '' TERM; {sys.executable} stubborn.py; sleep 60")
    wait_until(lambda: is_running(seconds))
    assert "were ended" in shell.job("kill", id=job).output
    assert not is_running(seconds)


def test_a_job_does_not_outlive_its_keeper_when_it_kills_that(shell, seconds, is_running):
    start(shell, f"sleep 0.2; kill -KILL $PPID; exec sleep {seconds}")
    wait_until(lambda: "ended" in shell.job("list").output)
    assert not is_running(seconds)


DAEMON = """
import os, resource, signal, sys, time

if os.fork():
    time.sleep(60)
os.setsid()
if os.fork():
    os._exit(0)
if "untag" in sys.argv:
    _, most = resource.getrlimit(resource.RLIMIT_RTTIME)
    resource.setrlimit(resource.RLIMIT_RTTIME, (most, most))
for pid in sys.argv[2].split(","):
    os.kill(int(pid), signal.SIGKILL)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""


@pytest.mark.parametrize("more", ["", "untag"])
def test_a_daemon_that_killed_the_keeper_of_its_job_is_ended(shell, seconds, is_running, more):
    """It has left the group, the session, its parents, its environment and its tag."""
    (shell.root / "daemon.py").write_text(DAEMON)
    job = start(shell, f"{sys.executable} daemon.py {seconds} $PPID {more}")
    assert "[ended with exit code -9]" in read_until(shell, job, "ended")
    assert not is_running(seconds)


KEEPS = """
import sys, time
from pathlib import Path
from nanocoder_kit_process.background import BackgroundProcess
argv = ["/bin/sh", "-c", sys.argv[1]]
BackgroundProcess("job-1", "x", argv, Path.cwd(), {"PATH": "/usr/bin:/bin"})
time.sleep(60)
"""
LOOKS = "from nanocoder_kit_process.process_tree import guard; guard(); print('looked')"


def leave(tmp_path, daemon, seconds):
    """Let a daemon end the supervisor of its job and its nanocoder."""
    (tmp_path / "daemon.py").write_text(daemon)
    script = f"exec {sys.executable} daemon.py {seconds} $PPID,$OURS"
    # Stopped, nanocoder cannot end the daemon between the two kills.
    command = f"OURS=$(cut -d' ' -f4 /proc/$PPID/stat); kill -STOP $OURS; {script}"
    with subprocess.Popen([sys.executable, "-c", KEEPS, command], cwd=tmp_path) as ours:
        assert ours.wait(10) == -signal.SIGKILL


def test_a_daemon_that_killed_nanocoder_too_is_ended_by_the_next_one(tmp_path, seconds, is_running):
    leave(tmp_path, DAEMON, seconds)
    subprocess.run([sys.executable, "-c", LOOKS], check=True)
    assert not is_running(seconds)


def test_the_next_one_spares_what_has_an_owner(seconds, is_running):
    with subprocess.Popen([sys.executable, "-c", KEEPS, f"sleep {seconds}"]) as owner:
        wait_until(lambda: is_running(seconds))
        subprocess.run([sys.executable, "-c", LOOKS], check=True)
        assert is_running(seconds)
        owner.kill()
    wait_until(lambda: not is_running(seconds))


def test_the_next_one_spares_what_it_comes_from_itself(tmp_path):
    """A terminal multiplexer, say, that was started in a job and that a person works in."""
    looks = f'{sys.executable} -c "{LOOKS}" >said; echo spared >>said'
    daemon = DAEMON.partition("os.execve")[0] + f'os.execv("/bin/sh", ["sh", "-c", {looks!r}])'
    output = tmp_path / "said"
    for _ in range(5):  # a process of another test may come first, and ends it
        leave(tmp_path, daemon, 0)
        until = time.monotonic() + 2
        while time.monotonic() < until and not (output.exists() and "\n" in output.read_text()):
            time.sleep(0.02)
        if output.exists() and output.read_text():
            break
    wait_until(lambda: output.read_text() == "looked\nspared\n")


def test_other_commands_leave_jobs_alone_and_tell_of_their_end(shell, seconds, is_running):
    job = start(shell, f"sleep {seconds} & wait")
    wait_until(lambda: is_running(seconds))
    assert shell("echo hello").output == "hello"
    assert is_running(seconds)
    shell(f"pkill -f 'sleep {seconds}'; true")
    wait_until(lambda: "ended" in shell.job("list").output)
    assert f"{job} ended with exit code" in shell("echo hello").output
    assert shell("echo hello").output == "hello", "once is enough"


def test_there_is_a_limit(shell):
    for _ in range(MAX_JOBS):
        start(shell, "sleep 300")
    with pytest.raises(ToolError) as caught:
        start(shell, "sleep 300")
    assert caught.value.error_class == "too_many_jobs"
    assert "8 jobs are running" in str(caught.value)


@pytest.mark.parametrize("action", ["read", "kill"])
def test_a_job_has_to_be_named(shell, action):
    with pytest.raises(ToolError, match="needs 'id'"):
        shell.job(action)


def test_waiting_ends_when_the_call_is_cancelled(shell):
    job = start(shell, "sleep 300")
    shell.cancel.set("interrupted")
    started = time.monotonic()
    with pytest.raises(Cancelled, match="interrupted"):
        shell.job("read", id=job, wait=60)
    assert time.monotonic() - started < 5


def test_jobs_get_the_environment_directory_and_sandbox_of_commands(shell, monkeypatch):
    monkeypatch.setenv("ACME_TOKEN", "hunter2")
    (shell.root / "sub").mkdir()
    shell.wrap = lambda argv, _ports: ["env", "WRAPPED=yes", *argv]
    job = shell("env; pwd", background=True, workdir="sub").data["id"]
    output = read_until(shell, job, "ended")
    assert "WRAPPED=yes" in output
    assert "GIT_TERMINAL_PROMPT=0" in output
    assert "hunter2" not in output
    assert str(shell.root / "sub") in output


def test_the_preview_says_that_a_command_goes_on(shell):
    call = ToolCall("c", "bash", {"command": "make watch", "background": True})
    text = nanocoder_render(call, None, SessionInfo("s", shell.root), None)
    assert text == "make watch\n(in the background)"


def test_jobs_end_with_the_session(tmp_path, seconds, is_running):
    cwd = tmp_path / "work"
    cwd.mkdir()
    with opened(cwd, plugins=[nanocoder_tool_bash], mode="auto", approve=_yes) as (session, _):
        arguments = {"command": f"sleep {seconds}", "background": True}
        assert list(session.call("bash", arguments))[-1].data["status"] == "ok"
        wait_until(lambda: is_running(seconds))
    assert not is_running(seconds)


def test_jobs_end_when_we_are_killed(tmp_path, seconds, is_running):
    program = f"""
import sys, time
from pathlib import Path
from nanocoder_kit_process.background import BackgroundProcess
BackgroundProcess("job-1", "x", ["/bin/sh", "-c", "setsid sleep {seconds} & sleep {seconds}"],
     Path({str(tmp_path)!r}), {{"PATH": "/usr/bin:/bin"}})
time.sleep(60)
"""
    ours = subprocess.Popen([sys.executable, "-c", program])
    wait_until(lambda: is_running(seconds))
    os.kill(ours.pid, signal.SIGKILL)
    ours.wait()
    wait_until(lambda: not is_running(seconds))


def _yes(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)
