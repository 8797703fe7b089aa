"""What the sandbox of a killed session leaves, and who removes it.

The plugin's tests have a fixture *box*, which opens a sandbox: `box(session, settings)`,
and import the fixtures *inside* and *repository*.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandbox_arrivals import await_path
from sandboxed_place import DEEPEN

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
OF_KILLED = "mkdir armed; sleep 60"


def kill_a_session(repository, box, workspace, command=OF_KILLED):
    """Let a session run a command that makes a folder `armed` and waits, and kill it then."""
    argv = [sys.executable, "-c", SESSION, box.__module__, box.__qualname__, str(workspace)]
    environ = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    session = subprocess.Popen([*argv, command], env=environ)
    await_path(workspace / "armed")
    session.send_signal(signal.SIGKILL)
    session.wait()


def test_no_file_stays_of_a_killed_session(repository, box):
    kill_a_session(repository, box, repository.workspace)
    folder = only_place(repository)
    until = time.monotonic() + 40
    while folder.exists():  # its command ends a moment later
        assert time.monotonic() < until
        repository.open()
        repository.close()
    assert not folder.with_suffix(".lease").exists()
    assert not folder.parent.exists()


def test_no_deep_tree_stays_of_a_session(repository):
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", f"{DEEPEN} $TMPDIR/x"], ()))
    folder = only_place(repository)
    assert (folder / "tmp/x/d").exists()
    repository.close()
    assert not folder.exists()


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
    (folder,) = Path(tempfile.gettempdir()).glob("nanocoder-sandbox-*/*/")
    return folder


def test_what_a_session_has_that_lives_stays(repository):
    first = repository.open()
    done = repository.start(first.wrap(["/bin/sh", "-c", "echo x > $TMPDIR/a"], ()))
    assert done.returncode == 0, done.stderr
    repository.open()
    done = repository.start(first.wrap(["/bin/sh", "-c", "cat $TMPDIR/a"], ()))
    assert done.stdout == "x\n"
