"""Real programs try to get out of Landlock, and to leave something behind."""

import os
import shlex
import subprocess

import pytest
from sandbox_attacks import *  # noqa: F403
from sandbox_forks import test_what_forks_without_end_ends_with_its_call  # noqa: F401
from sandbox_of_nobody import NOBODY
from sandboxed_place import PYTHON

pytestmark = [pytest.mark.contract("E1"), pytest.mark.contract("E4")]


# What differs from a sandbox with namespaces; the README says so.


def test_a_session_has_its_own_tmp(inside):
    sandbox = inside.open()
    for command, output in (("echo x > $TMPDIR/a; ls $TMPDIR", "a\n"), ("cat $TMPDIR/a", "x\n")):
        assert output in inside.start(sandbox.wrap(["/bin/sh", "-c", command], ())).stdout
    assert inside.run("cat $TMPDIR/a").stdout == ""
    assert inside.run("ls /tmp; echo x > /tmp/nanocoder-was-here").stdout == ""
    assert not os.path.exists("/tmp/nanocoder-was-here")


def test_sockets_of_programs_inside_work(inside):
    """Only pairs do: no filter sees to which socket of the file system a program connects."""
    talk = (
        "import socket\n"
        "one, other = socket.socketpair()\n"
        "one.sendall(b'hello'); print(other.recv(5).decode())\n"
    )
    assert inside.run(f"{PYTHON} {shlex.quote(talk)}").stdout == "hello\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts a process of another user")
@pytest.mark.full
@pytest.mark.parametrize("box", ["nobody"], indirect=True)
def test_the_other_processes_of_a_user_keep_their_priority(inside):
    with subprocess.Popen(["/bin/sleep", "30"], user=NOBODY) as other:
        change = "import os; os.setpriority(os.PRIO_USER, 0, 7)"
        assert "PermissionError" in inside.run(f"{PYTHON} {shlex.quote(change)}").stderr
        assert os.getpriority(os.PRIO_PROCESS, other.pid) != 7
        other.kill()
