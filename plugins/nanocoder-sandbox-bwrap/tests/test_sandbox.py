"""A session whose commands run in bubblewrap, as a person configures it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

NANOCODER = [sys.executable, "-P", "-m", "nanocoder"]


@pytest.fixture
def nanocoder(tmp_path, warm):
    """Run the command in a workspace, with a configuration."""
    workspace, config = tmp_path / "ws", tmp_path / "home/.config/nanocoder/config.toml"
    workspace.mkdir()
    config.parent.mkdir(parents=True)
    warm(tmp_path / "home")

    def run(settings, *arguments, path=os.environ["PATH"]):
        config.write_text(settings)
        return subprocess.run(
            [*NANOCODER, *arguments],
            cwd=workspace,
            env={"PATH": path, "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def call(nanocoder, command, settings='sandbox = "bwrap"', **more):
    arguments = json.dumps({"command": command, **more.pop("arguments", {})})
    options = ("--mode", "auto", "--output", "json")
    return json.loads(nanocoder(settings, "call", "bash", arguments, *options, **more).stdout)


@pytest.mark.needs("bwrap")
@pytest.mark.contract("E1")
def test_commands_run_inside(nanocoder, tmp_path):
    attack = f"echo x > /etc/pwn; echo x > {tmp_path}/pwn"
    result = call(nanocoder, f"{attack}; echo y > mine; cat /proc/1/comm")
    assert "Read-only file system" in result["data"]["stderr"]
    assert not (tmp_path / "pwn").exists()
    assert (tmp_path / "ws/mine").read_text() == "y\n"
    assert result["data"]["stdout"] == "bwrap\n"
    assert result["metadata"]["ended"] == []


@pytest.mark.needs("bwrap")
@pytest.mark.contract("E3")
def test_the_relay_of_the_sandbox_is_nothing_that_a_command_left_running(nanocoder):
    settings = 'sandbox = "bwrap"\n[plugins.sandbox-bwrap]\nhosts = ["example.org"]'
    for _ in range(5):
        assert call(nanocoder, "echo $http_proxy", settings)["metadata"]["ended"] == []


@pytest.mark.needs("bwrap")
@pytest.mark.contract("E3")
@pytest.mark.parametrize(
    "command",
    [
        "curl -sS https://a.example.org/x",
        "python3 -c \"import socket; socket.create_connection(('a.example.org', 80))\"",
    ],
    ids=range(2),
)
def test_a_command_that_misses_the_network_is_told_how_a_host_is_allowed(nanocoder, command):
    result = call(nanocoder, command)
    told = "[this ran in a sandbox (bwrap), which has no network but to servers of this session: "
    assert f"{told}call again" in result["output"]
    assert (
        "or the user allows it by `hosts` or `network` in [plugins.sandbox-bwrap]"
        in result["output"]
    )
    assert "no user is there to agree, so only a rule can allow that]" in result["output"]
    assert result["data"]["exit_code"]
    assert "has no network" not in result["data"]["stderr"]


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("path", ["kept", "deep/kept", '"$PWD/deep/kept"', "folder/a"])
def test_a_command_that_writes_what_a_rule_keeps_is_told_which_rule(nanocoder, tmp_path, path):
    for folder in ("deep", "folder"):
        (tmp_path / "ws" / folder).mkdir(parents=True)
    for name in ("kept", "deep/kept", "folder/a"):
        (tmp_path / "ws" / name).write_text("as it was")
    rules = '[plugins.policy-rules]\ndeny = ["edit_file(kept)", "edit_file(folder/**)"]'
    output = call(nanocoder, f"echo x > {path}", f'sandbox = "bwrap"\n{rules}')["output"]
    rule = "edit_file(folder/**)" if path.startswith("folder") else "edit_file(kept)"
    assert f"from being changed (the rule '{rule}' forbids it): call again with" in output


@pytest.mark.needs("bwrap")
def test_a_command_that_fails_for_another_reason_gets_no_hint(nanocoder):
    for command in ("false", "echo Could not resolve host: x.example.org"):
        assert "has no network" not in call(nanocoder, command)["output"]
    command = "echo Could not resolve host: x.example.org; false"
    assert "has no network" in call(nanocoder, command)["output"]
    assert "has no network" not in call(nanocoder, command, 'sandbox = "none"')["output"]


@pytest.mark.needs("bwrap")
def test_what_a_command_leaves_running_is_named(nanocoder):
    note = "[left running in the background, and ended with the call: sleep, sleep]"
    daemon = "(setsid sleep 600 >/dev/null 2>&1 &)"
    result = call(nanocoder, f"sleep 600 & {daemon}; sleep 0.5; echo hi; exit 4")
    assert result["data"]["stdout"] == "hi\n"
    assert result["data"]["stderr"] == f"{note}\n"
    assert result["data"]["exit_code"] == 4


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("command", "stderr", "code"),
    [
        ("sleep 600 & kill $!; wait; true", "", 0),
        ("kill -9 $$", "", 137),
        ("kill -INT $$", "", 130),
        ("echo x >&2; echo y >&3", "x\n/bin/bash: line 1: 3: Bad file descriptor\n", 1),
        ("cat; exit 0", "", 0),
    ],
    ids=range(5),
)
def test_what_names_it_adds_nothing_to_other_commands(nanocoder, command, stderr, code):
    data = call(nanocoder, command)["data"]
    assert (data["stderr"], data["exit_code"]) == (stderr, code)


@pytest.mark.needs("bwrap")
def test_jobs_run_inside(nanocoder, tmp_path):
    command = f"echo x > {tmp_path}/pwn; echo y > mine"
    call(nanocoder, command, arguments={"background": True})
    assert not (tmp_path / "pwn").exists()


@pytest.mark.needs("bwrap")
def test_the_doctor_says_what_commands_run_in(nanocoder):
    assert "commands run in bwrap" in nanocoder('sandbox = "bwrap"', "doctor").stdout


def test_without_the_program_no_session_starts(nanocoder, tmp_path):
    words = ("call", "bash", json.dumps({"command": "echo x > mine"}), "--mode", "auto")
    done = nanocoder('sandbox = "bwrap"', *words, path=os.path.dirname(sys.executable))
    assert done.returncode == 2
    assert "install the package bubblewrap" in done.stderr
    assert not (tmp_path / "ws/mine").exists()
    done = nanocoder('sandbox = "bwrap"', "doctor", path=os.path.dirname(sys.executable))
    assert done.returncode == 1
    assert "config.toml:1: the sandbox 'bwrap'" in done.stdout


@pytest.mark.needs("bwrap")
def test_a_bwrap_of_the_workspace_is_not_started(nanocoder, tmp_path):
    fake = tmp_path / "ws/bwrap"
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwn\n")
    fake.chmod(0o755)
    result = call(nanocoder, "echo inside", path=f"{tmp_path}/ws:{os.environ['PATH']}")
    assert result["data"]["stdout"] == "inside\n"
    assert not (tmp_path / "pwn").exists()


@pytest.mark.needs("bwrap")
@pytest.mark.contract("E1")
def test_the_result_says_what_was_moved_away(nanocoder, tmp_path):
    (tmp_path / "ws/make").write_text("echo made; mkdir -p sub/.vscode")
    result = call(nanocoder, "sh make")
    line = "sub/.vscode was made in the sandbox and is now sub/from-sandbox-_vscode"
    assert line in result["output"]
    assert result["output"].startswith("made\n")
    assert result["data"]["stdout"] == "made\n"
    assert (tmp_path / "ws/sub/from-sandbox-_vscode").is_dir()
    assert "sandbox" not in call(nanocoder, "ls")["output"].partition("sub")[0]


@pytest.mark.needs("bwrap")
def test_the_doctor_names_paths_that_are_not_there(nanocoder, tmp_path):
    (tmp_path / "home/there").mkdir()
    names = '"~/.cache/uv", "~/there", "node_modules/.bin"'
    settings = f'sandbox = "bwrap"\n[plugins.sandbox-bwrap]\nwritable = [{names}]'
    checks = json.loads(nanocoder(settings, "doctor", "--output", "json").stdout)["checks"]
    assert [row["detail"] for row in checks if "writable" in row["detail"]] == [
        "`writable` names '~/.cache/uv', which does not exist: no command can make it"
    ]


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print(flush=True)
input()
"""
"""While a process holds a lease, others wait when they open the file, as on a slow file system."""


@pytest.mark.needs("bwrap")
def test_a_signal_ends_a_call_whose_sandbox_cannot_be_prepared(nanocoder, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path / "ws")], check=True)
    slow = tmp_path / "slow"
    slow.touch()
    with (tmp_path / "ws/.git/config").open("a") as config:
        config.write(f"[include]\n\tpath = {slow}\n")
    assert nanocoder('sandbox = "bwrap"', "--version").returncode == 0
    holds = subprocess.Popen(
        [sys.executable, "-c", LEASE, str(slow)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holds:
        assert holds.stdout.readline() == b"\n"
        process = subprocess.Popen(
            [*NANOCODER, "call", "--mode", "auto", "bash", '{"command": "touch started"}'],
            cwd=tmp_path / "ws",
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"},
        )
        wchan = f"/proc/{process.pid}/task"
        until = time.monotonic() + 30
        while not any(waits_for_a_lease(wchan)):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
        holds.communicate(b"\n")
    assert not (tmp_path / "ws/started").exists()


def waits_for_a_lease(folder):
    """Yield for each thread whether the kernel has it wait until a lease is given back."""
    for thread in os.listdir(folder):
        with open(f"{folder}/{thread}/wchan") as file:
            yield "lease" in file.read()
