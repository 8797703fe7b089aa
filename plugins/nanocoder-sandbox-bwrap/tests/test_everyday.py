"""What developers do every day works in bubblewrap."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandboxed_place import PYTHON, SYSTEM_PYTHON, inside  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


def test_a_virtual_environment_is_made_and_used(inside):  # noqa: F811
    opened = inside.open()
    make = f"{SYSTEM_PYTHON} -m venv --without-pip .venv"
    install = "cd .venv/lib/python3*/site-packages && echo 'name = 1' > installed.py"
    use = ".venv/bin/python -c 'import installed, sys; print(sys.prefix, installed.name)'"
    for command, output in ((make, ""), (install, ""), (use, f"{inside.workspace}/.venv 1\n")):
        done = inside.start(opened.wrap(["/bin/bash", "-c", command], ()))
        assert (done.returncode, done.stdout, done.stderr) == (0, output, "")
        assert opened.changes() == []
    assert set(os.listdir(inside.workspace)) == {".env", ".git", ".venv", "private"}


@pytest.mark.rows(5)
@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("printf '#!/bin/sh\\necho ran\\n' > /tmp/s; chmod +x /tmp/s; /tmp/s", "ran\n"),
        ("f=$(mktemp); echo x > $f; cat $f; dirname $f", "x\n/tmp\n"),
        (
            f"{SYSTEM_PYTHON} -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
            "[1]\n",
        ),
        (f"{SYSTEM_PYTHON} -c 'print(chr(228))'", "\u00e4\n"),
        ("cat <(echo a) <<< b; echo c | tee /dev/stderr >/dev/null", "a\n"),
    ],
    ids=range(5),
)
def test_it_works(inside, command, output, access):  # noqa: F811
    argv = inside.open().wrap(["/bin/bash", "--norc", "-c", command], (), access)
    done = inside.start(argv, {"LANG": "C.UTF-8"})
    assert (done.returncode, done.stdout) == (0, output), done.stderr


@pytest.mark.needs("npm")
def test_npm_fails_soon_without_the_network(inside):  # noqa: F811
    started = time.monotonic()
    done = inside.run("npm install is-number")
    assert "EAI_AGAIN" in done.stderr
    assert time.monotonic() - started < 30


@pytest.mark.contract("E3")
@pytest.mark.rows(2)
@pytest.mark.parametrize("is_relative", [True, False])
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/run", "/var/tmp"])
def test_sockets_in_a_workspace_of_any_folder_are_not_reached(
    folder, is_relative, box, monkeypatch
):
    try:
        workspace = Path(tempfile.mkdtemp(prefix="nanocoder-test-", dir=folder))
    except OSError:
        pytest.skip(f"{folder} cannot be written to")
    opened = box(SessionInfo("s", workspace), Settings())
    path = workspace / "agent.sock"
    own = "s.bind('own.sock'); s.listen(); c = socket.socket(1); c.connect('own.sock')"
    try:
        with socket.socket(socket.AF_UNIX) as server:
            monkeypatch.chdir(workspace)
            server.bind(path.name if is_relative else str(path))
            server.listen()
            for access in (Access.WRITE, Access.READ):
                for script, ends in ((f"s.connect({str(path)!r})", 1), (own, 0)):
                    source = f"import socket; s = socket.socket(1); {script}"
                    argv = opened.wrap([*PYTHON.split(), source], (), access)
                    done = subprocess.run(
                        argv, cwd=workspace, capture_output=True, text=True, check=False
                    )
                    assert done.returncode == ends, done.stderr
                (workspace / "own.sock").unlink(missing_ok=True)
            server.settimeout(0.05)
            with pytest.raises(TimeoutError):
                server.accept()
    finally:
        opened.close()
        shutil.rmtree(workspace)
