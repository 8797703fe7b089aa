"""A session whose commands run in Landlock, as a person configures it."""

import json
import os
import subprocess
import sys

import pytest

NANOCODER = [sys.executable, "-P", "-m", "nanocoder"]


@pytest.fixture
def nanocoder(tmp_path, warm):
    """Run the command in a workspace, with a configuration, where there is no bubblewrap."""
    workspace, config = tmp_path / "ws", tmp_path / "home/.config/nanocoder/config.toml"
    programs = tmp_path / "programs"
    for folder in (workspace, config.parent, programs):
        folder.mkdir(parents=True)
    warm(tmp_path / "home")
    for name in ("sh", "bash", "ls", "cat", "sleep", "touch", "mkdir"):
        (programs / name).symlink_to(f"/bin/{name}")

    def run(settings, *arguments):
        config.write_text(settings)
        return subprocess.run(
            [*NANOCODER, *arguments],
            cwd=workspace,
            env={"PATH": str(programs), "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def call(nanocoder, command, settings, **more):
    arguments = json.dumps({"command": command, **more})
    options = ("--mode", "auto", "--output", "json")
    return json.loads(nanocoder(settings, "call", "bash", arguments, *options).stdout)


@pytest.mark.contract("E1")
@pytest.mark.parametrize("sandbox", ["landlock", "auto"])
def test_commands_run_inside(nanocoder, tmp_path, sandbox):
    settings = f'sandbox = "{sandbox}"'
    result = call(nanocoder, f"echo x > {tmp_path}/pwn; echo y > mine; sleep 99 &", settings)
    assert "Permission denied" in result["data"]["stderr"]
    assert not (tmp_path / "pwn").exists()
    assert (tmp_path / "ws/mine").read_text() == "y\n"
    assert result["metadata"]["ended"] == []


def test_a_rule_is_not_taken_for_the_folder_of_temporary_files(nanocoder, tmp_path):
    (tmp_path / "ws/secrets").mkdir()
    rule = '[plugins.policy-rules]\ndeny = ["write_file(secrets/**)"]'
    result = call(nanocoder, "echo x > secrets/a", f'sandbox = "landlock"\n{rule}')
    assert "Permission denied" in result["output"]
    rule = "(the rule 'write_file(secrets/**)' forbids it)"
    assert f"keeps 'secrets/a' from being changed {rule}" in result["output"]
    assert "$TMPDIR" not in result["output"]


def test_what_a_command_leaves_running_is_named(nanocoder):
    command = "sleep 600 & (sleep 500 >/dev/null 2>&1 &); sleep 0.5; echo hi; exit 4"
    data = call(nanocoder, command, 'sandbox = "landlock"')["data"]
    note = "[left running in the background, and ended with the call: sleep, sleep]"
    assert (data["stdout"], data["stderr"], data["exit_code"]) == ("hi\n", f"{note}\n", 4)
    clean = call(nanocoder, "sleep 600 & kill $!; wait; true", 'sandbox = "landlock"')["data"]
    assert clean["stderr"] == ""


def test_jobs_run_inside(nanocoder, tmp_path):
    command = f"echo x > {tmp_path}/pwn; echo y > mine"
    call(nanocoder, command, 'sandbox = "landlock"', background=True)
    assert not (tmp_path / "pwn").exists()


def test_the_doctor_says_what_commands_run_in(nanocoder):
    assert "commands run in landlock" in nanocoder('sandbox = "landlock"', "doctor").stdout


def test_a_list_of_hosts_is_refused(nanocoder):
    settings = 'sandbox = "landlock"\n[plugins.sandbox-landlock]\nhosts = ["example.org"]'
    done = nanocoder(settings, "call", "bash", '{"command": "touch mine"}', "--mode", "auto")
    assert done.returncode == 2
    assert "leave `hosts` empty" in done.stderr


def test_a_list_of_hosts_takes_no_sandbox_without_one(nanocoder):
    """With "auto", what cannot hold the list is none."""
    settings = 'sandbox = "auto"\n[plugins.sandbox-landlock]\nhosts = ["example.org"]'
    assert "commands run in landlock" not in nanocoder(settings, "doctor").stdout


def test_the_result_says_what_was_moved_away(nanocoder, tmp_path):
    (tmp_path / "ws/make").write_text("echo made; mkdir -p sub/.vscode")
    result = call(nanocoder, "sh make", 'sandbox = "landlock"')
    assert "sub/.vscode was made in the sandbox and is now sub/from-" in result["output"]
    assert os.listdir(tmp_path / "ws/sub") == ["from-sandbox-_vscode"]
