"""Calls that Landlock does not know are refused where they are about something outside."""

import os
import resource
import shlex
import socket
import subprocess
import sys

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandboxed_place import PYTHON, inside  # noqa: F401

pytestmark = pytest.mark.contract("E1")
CALLS = {
    "limits": "resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (3, 3))",
    "priority": "os.setpriority(os.PRIO_PROCESS, VICTIM, 19)",
    "processors": "os.sched_setaffinity(VICTIM, {0})",
    "scheduler": "os.sched_setscheduler(VICTIM, os.SCHED_IDLE, os.sched_param(0))",
}
OWN = {
    "limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))",
    "priority": "os.nice(1)",
    "processors": "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "a pair of sockets": "socket.socketpair()",
}
SHARED = ("shmget(0x4242, 4096, 0o1600)", "msgget(0x4243, 0o1600)", "semget(0x4244, 1, 0o1600)")


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


@pytest.fixture
def victim():
    """Start a process outside."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def run(inside, source):  # noqa: F811
    script = f"import ctypes, os, resource, socket\n{source}\nprint('done')\n"
    return inside.run(f"{PYTHON} {shlex.quote(script)}")


@pytest.mark.parametrize("name", CALLS)
def test_nothing_of_a_process_outside_is_set(inside, victim, name):  # noqa: F811
    facts = resource.prlimit(victim.pid, resource.RLIMIT_NOFILE), os.sched_getaffinity(victim.pid)
    done = run(inside, CALLS[name].replace("VICTIM", str(victim.pid)))
    assert "PermissionError" in done.stderr
    assert facts == (
        resource.prlimit(victim.pid, resource.RLIMIT_NOFILE),
        os.sched_getaffinity(victim.pid),
    )
    assert os.getpriority(os.PRIO_PROCESS, victim.pid) == os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("name", OWN)
def test_a_program_sets_its_own(inside, name):  # noqa: F811
    assert run(inside, OWN[name]).stdout == "done\n"


@pytest.mark.parametrize("call", SHARED)
def test_nothing_is_shared_by_a_number(inside, call):  # noqa: F811
    done = run(inside, f"assert ctypes.CDLL(None).{call} != -1")
    assert "AssertionError" in done.stderr


def test_no_datagram_reaches_a_service(inside):  # noqa: F811
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
        path = str(inside.root / "service")
        service.bind(path)
        service.settimeout(0.2)
        source = f"a, b = socket.socketpair(type=socket.SOCK_DGRAM); a.sendto(b'x', {path!r})"
        assert "done" not in run(inside, source).stdout
        with pytest.raises(TimeoutError):
            service.recv(10)


def test_a_hard_link_can_be_made(inside):  # noqa: F811
    (inside.workspace / "sub").mkdir()
    assert inside.run("cd sub && echo x > file && ln file other && cat other").stdout == "x\n"
    assert inside.run("mkfifo sub/pipe && test -p sub/pipe && echo made").stdout == "made\n"


@pytest.mark.parametrize("family", [17, 38, 40])  # packets, the kernel's ciphers, machines
def test_a_family_of_sockets_that_programs_do_not_use_is_unknown(inside, family):  # noqa: F811
    done = run(inside, f"socket.socket({family}, 3, 0)")
    assert "Address family not supported" in done.stderr


OWNERS = {
    "chmod": "os.chmod('tool', 0o4755)",
    "group": "os.chmod('tool', 0o2755)",
    "fchmod": "os.fchmod(os.open('tool', os.O_RDONLY), 0o6755)",
    "fchmodat": "os.chmod('tool', 0o6755, dir_fd=os.open('.', os.O_RDONLY))",
    "open": "os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "no name": "os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)",
    "mknod": "os.mknod('new', 0o104755)",
}


@pytest.mark.rows(3)
@pytest.mark.parametrize("name", OWNERS)
def test_no_program_comes_to_run_as_its_owner(inside, name):  # noqa: F811
    inside.run("cp /bin/true tool && chmod 755 tool")
    assert "PermissionError" in run(inside, OWNERS[name]).stderr
    names = os.listdir(inside.workspace)
    assert not [each for each in names if (inside.workspace / each).stat().st_mode & 0o6000]


def test_chmod_says_that_it_may_not(inside):  # noqa: F811
    done = inside.run(
        "cp /bin/true tool; chmod 6755 tool; chmod 1755 . && chmod 700 tool && echo x"
    )
    assert "Operation not permitted" in done.stderr
    assert done.stdout == "x\n"
    assert (inside.workspace / "tool").stat().st_mode & 0o7777 == 0o700
