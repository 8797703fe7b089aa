"""Real programs try to get out of Landlock, and to leave something behind."""

import os
import shlex
import subprocess

import pytest
from nanocoder_kit_sandbox.landlock import Landlocked
from sandbox_attacks import *  # noqa: F403
from sandboxed_place import PYTHON, SYSTEM_PYTHON

pytestmark = [pytest.mark.contract("E1"), pytest.mark.contract("E4")]
NOBODY = 65_534


class LandlockedOfNobody(Landlocked):
    """Landlock as a user without rights starts it."""

    def __init__(self, session, settings):
        self.root = session.cwd.parent
        self.give("0:0")
        super().__init__(session, settings)
        self._python = SYSTEM_PYTHON

    def give(self, owner):
        subprocess.run(["chown", "-R", owner, str(self.root)], check=True)

    def wrap(self, argv, ports):
        wrapped = super().wrap(argv, ports)
        self.give(f"{NOBODY}:{NOBODY}")
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *wrapped]


@pytest.fixture(params=["ourselves", "nobody"] if os.getuid() == 0 else ["ourselves"])
def box(request):
    """Open Landlock around a workspace; for root also as a user who has no rights."""
    return LandlockedOfNobody if request.param == "nobody" else Landlocked


# What differs from a sandbox with namespaces; the README says so.


def test_a_session_has_its_own_tmp(inside):
    box = inside.open()
    for command, output in (("echo x > $TMPDIR/a; ls $TMPDIR", "a\n"), ("cat $TMPDIR/a", "x\n")):
        assert output in inside.start(box.wrap(["/bin/sh", "-c", command], ())).stdout
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
@pytest.mark.parametrize("box", ["nobody"], indirect=True)
def test_the_other_processes_of_a_user_keep_their_priority(inside):
    with subprocess.Popen(["/bin/sleep", "30"], user=NOBODY) as other:
        change = "import os; os.setpriority(os.PRIO_USER, 0, 7)"
        assert "PermissionError" in inside.run(f"{PYTHON} {shlex.quote(change)}").stderr
        assert os.getpriority(os.PRIO_PROCESS, other.pid) != 7
        other.kill()
