"""What the sandbox of a killed session leaves, and who removes it.

The plugin's tests have a fixture *box*, which opens a sandbox: `box(session, settings)`,
and import the fixtures *inside* and *repository*.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

from nanocoder_kit_sandbox import inside as kit_inside
from sandbox_arrivals import await_path

SESSION = """
import subprocess, sys
from importlib import import_module
from pathlib import Path
from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Settings
module, name, workspace, command = sys.argv[1:]
box = getattr(import_module(module), name)(SessionInfo("s", Path(workspace)), Settings())
subprocess.run(box.wrap(["/bin/sh", "-c", command], ()), cwd=workspace, check=False)
"""
OF_KILLED = "mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; mkdir armed; sleep 60"


def kill_a_session(repository, box, workspace):
    """Let a session run OF_KILLED, and kill it."""
    argv = [sys.executable, "-c", SESSION, box.__module__, box.__qualname__, str(workspace)]
    environ = {**os.environ, "TMPDIR": str(repository.root / "tmp")}
    session = subprocess.Popen([*argv, OF_KILLED], env=environ)
    await_path(workspace / "armed")
    session.send_signal(signal.SIGKILL)
    session.wait()


def places(repository):
    """Return what sessions keep: "" is a folder, and "lease" what they note."""
    found = (repository.root / "tmp").glob("nanocoder-sandbox-*/*")
    return {path.name.partition(".")[2] for path in found}


def test_a_later_session_clears_what_a_killed_one_left(repository, box, monkeypatch):
    monkeypatch.setattr(kit_inside, "SLACK_S", 0.5)
    kill_a_session(repository, box, repository.workspace)
    time.sleep(2 * kit_inside.SLACK_S)
    (repository.workspace / "later/.vscode").mkdir(parents=True)
    opened = repository.open()
    repository.start(opened.wrap(["/bin/true"], ()))
    (line,) = opened.changes()
    assert line.startswith(
        "sub/.vscode was made in the sandbox and is now sub/from-sandbox-_vscode"
    )
    assert not (repository.workspace / "sub/.vscode").exists()
    assert (repository.workspace / "later/.vscode").is_dir()
    live = (repository.root / "tmp").glob("nanocoder-sandbox-*/*.lease")
    assert len(list(live)) == 1
    repository.close()
    assert places(repository) == set()
    assert not (repository.workspace / ".idea").exists()


def test_a_session_of_another_workspace_leaves_the_names_to_one_of_this(repository, box):
    other = repository.root / "other"
    other.mkdir()
    kill_a_session(repository, box, other)
    until = time.monotonic() + 40
    while places(repository) != {"lease"}:  # its command ends a moment later
        assert time.monotonic() < until
        repository.open()
        repository.close()
    assert (other / "sub/.vscode").exists()


def test_no_file_stays_of_a_killed_session_without_a_workspace(repository, box):
    other = repository.root / "other"
    other.mkdir()
    kill_a_session(repository, box, other)
    folder = only_place(repository)
    shutil.rmtree(other)  # no later session can be there
    until = time.monotonic() + 40
    while folder.exists():  # its command ends a moment later
        assert time.monotonic() < until
        repository.open()
        time.sleep(0.2)
    assert not folder.with_suffix(".lease").exists()
    repository.close()
    assert not folder.parent.exists()


def test_a_folder_stays_while_something_runs_that_has_its_files(repository):
    repository.open()
    folder = only_place(repository)
    foreign = folder.with_name(f"{'0' * 16}-0")
    foreign.mkdir(mode=0o700)
    (foreign / "lock").touch()
    linked = folder.with_name(f"{'1' * 16}-1")
    linked.symlink_to(repository.out)
    for path in (foreign, linked):
        path.with_suffix(".lease").touch(mode=0o600)
    locks = "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_SH)"
    argv = [sys.executable, "-c", f"{locks}; print(); input()", str(foreign / "lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        repository.open()
        assert foreign.exists()
        holder.communicate(b"\n")
    repository.open()
    assert not foreign.exists()
    assert not foreign.with_suffix(".lease").exists()
    assert linked.is_symlink()
    assert (repository.out / "file").exists()


def only_place(repository):
    """Return the only folder that a session has."""
    (folder,) = (repository.root / "tmp").glob("nanocoder-sandbox-*/*/")
    return folder


def test_what_a_session_has_that_lives_stays(repository):
    first = repository.open()
    done = repository.start(first.wrap(["/bin/sh", "-c", "echo x > $TMPDIR/a"], ()))
    assert done.returncode == 0, done.stderr
    repository.open()
    done = repository.start(first.wrap(["/bin/sh", "-c", "cat $TMPDIR/a"], ()))
    assert done.stdout == "x\n"
