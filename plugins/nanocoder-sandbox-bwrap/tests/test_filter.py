"""System calls that no command needs fail inside; those of everyday programs do not."""

import os
import shlex

import pytest
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_attacks import inside  # noqa: F401
from sandboxed_place import PYTHON

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E1")]
CALL = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
{call}
print(errno.errorcode.get(ctypes.get_errno(), "done") if result == -1 else "done")
"""
REFUSED = {
    "attach to bubblewrap": ("result = libc.ptrace(16, 1, 0, 0)", "EPERM"),
    "seize bubblewrap": ("result = libc.ptrace(0x4206, 1, 0, 0)", "EPERM"),
    "read its memory": ("result = libc.process_vm_readv(1, None, 0, None, 0, 0)", "EPERM"),
    "write its memory": ("result = libc.process_vm_writev(1, None, 0, None, 0, 0)", "EPERM"),
    "ask the keyring": ("result = libc.syscall(KEYCTL, 0, -3, 1)", "EPERM"),
    "queue calls": ("result = libc.syscall(425, 1, None)", "ENOSYS"),
    "take a file": ("result = libc.syscall(438, os.pidfd_open(os.getpid()), 0, 0)", "EPERM"),
    "mount": ("result = libc.syscall(430, b'tmpfs', 0)", "EPERM"),
}


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


def call(inside, source):  # noqa: F811
    number = "KEYCTL = 250 if os.uname().machine == 'x86_64' else 219\n"
    script = CALL.format(call=number + source)
    return inside.run(f"{PYTHON} {shlex.quote(script)}").stdout.strip()


@pytest.mark.rows(4)
@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_no_command_needs_fails(inside, name):  # noqa: F811
    source, problem = REFUSED[name]
    assert call(inside, source) == problem


def test_the_memory_of_bubblewrap_is_not_opened(inside):  # noqa: F811
    done = inside.run("for f in /proc/1/mem /proc/1/task/1/mem; do cat $f && echo read; done")
    assert "read" not in done.stdout


def test_a_program_of_ones_own_can_be_traced(inside):  # noqa: F811
    traced = (
        "child = os.fork()\n"
        "if not child:\n    import time; time.sleep(5); os._exit(0)\n"
        "result = libc.ptrace(16, child, 0, 0); os.waitpid(child, 0); os.kill(child, 9)\n"
    )
    assert call(inside, traced) == "done"


def test_programs_of_every_day_run(inside):  # noqa: F811
    programs = "python3 -c 'print(1)' && node -e 'console.log(2)'; git --version; ls / >/dev/null"
    done = inside.run(f"{programs} && echo fine", Settings())
    assert done.stdout.endswith("fine\n")
    assert "Operation not permitted" not in done.stderr


@pytest.mark.parametrize("family", [17, 38, 40])  # packets, the kernel's ciphers, machines
def test_a_family_of_sockets_that_programs_do_not_use_is_unknown(inside, family):  # noqa: F811
    assert call(inside, f"result = libc.socket({family}, 3, 0)") == "EAFNOSUPPORT"


OWNERS = {
    "chmod": "os.chmod('tool', 0o4755)",
    "group": "os.chmod('tool', 0o2755)",
    "fchmod": "os.fchmod(os.open('tool', os.O_RDONLY), 0o6755)",
    "fchmodat": "os.chmod('tool', 0o6755, dir_fd=os.open('.', os.O_RDONLY))",
    "open": "os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "no name": "os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)",
    "mknod": "os.mknod('new', 0o104755)",
}


@pytest.mark.parametrize("name", OWNERS)
def test_no_program_comes_to_run_as_its_owner(inside, name):  # noqa: F811
    inside.run("cp /bin/true tool && chmod 755 tool")
    done = inside.run(f"{PYTHON} {shlex.quote('import os; ' + OWNERS[name])}")
    assert "PermissionError" in done.stderr
    names = os.listdir(inside.workspace)
    assert not [each for each in names if (inside.workspace / each).stat().st_mode & 0o6000]


def test_chmod_says_that_it_may_not(inside):  # noqa: F811
    done = inside.run(
        "cp /bin/true tool; chmod 6755 tool; chmod 1755 . && chmod 700 tool && echo x"
    )
    assert "Operation not permitted" in done.stderr
    assert done.stdout == "x\n"
    assert (inside.workspace / "tool").stat().st_mode & 0o7777 == 0o700
