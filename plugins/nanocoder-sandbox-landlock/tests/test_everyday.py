"""What people run every day runs inside, or says at once why not."""

import os
import shlex
import subprocess
import time

import pytest
from nanocoder import Access, ToolError
from sandboxed_place import SYSTEM_PYTHON, inside  # noqa: F401

POOL = """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(abs, range(10))))
    print(multiprocessing.Array("i", 3)[:], multiprocessing.Queue().empty())
"""
SHARED = """
from multiprocessing.shared_memory import SharedMemory
memory = SharedMemory(create=True, size=10)
other = SharedMemory(memory.name)
other.buf[0] = 7
print(memory.buf[0])
print(memory.name)
"""


def test_processes_share_semaphores_and_memory(inside):  # noqa: F811
    (inside.workspace / "pool.py").write_text(POOL)
    (inside.workspace / "shared.py").write_text(SHARED)
    done = inside.run(f"{SYSTEM_PYTHON} -I pool.py; {SYSTEM_PYTHON} -I shared.py 2>/dev/null")
    *lines, name = done.stdout.splitlines()
    assert lines == ["45", "[0, 0, 0] True", "7"], done.stderr
    end = time.monotonic() + 10
    while os.path.lexists(f"/dev/shm/{name}"):  # a process of Python's own removes it at the end
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    "attack",
    [
        "open('THEIRS', 'r+')",
        "os.unlink('THEIRS')",
        "os.rename('THEIRS', 'OURS')",
        "os.link('THEIRS', 'OURS')",
        "os.chmod('THEIRS', 0o777)",
        "os.truncate('THEIRS', 0)",
        "open('/dev/shm/other', 'w')",
        "os.mkdir('OURS')",
        "os.symlink('/etc', 'OURS')",
        "os.link('/etc/hostname', 'OURS')",
    ],
)
def test_what_others_share_is_not_changed(inside, attack):  # noqa: F811
    theirs, ours = f"/dev/shm/sem.theirs{os.getpid()}", f"/dev/shm/sem.ours{os.getpid()}"
    attack = attack.replace("THEIRS", theirs).replace("OURS", ours)
    with open(theirs, "w", encoding="utf-8") as file:
        file.write("before")
    os.chmod(theirs, 0o666)
    try:
        done = inside.run(f"{SYSTEM_PYTHON} -I -c {shlex.quote(f'import os; {attack}')}")
        assert done.returncode == 1
        assert not os.path.lexists(ours)
        assert not os.path.lexists("/dev/shm/other")
        with open(theirs, encoding="utf-8") as file:
            assert file.read() == "before"
    finally:
        os.unlink(theirs)


def test_a_script_is_written_to_the_temporary_folder_and_run(inside):  # noqa: F811
    sandbox = inside.open()
    command = r"printf '#!/bin/sh\necho ran\n' > $TMPDIR/x; chmod +x $TMPDIR/x; $TMPDIR/x"
    assert inside.start(sandbox.wrap(["/bin/sh", "-c", command], ())).stdout == "ran\n"
    command = "n=/tmp/nanocoder-was-here; echo 'print(1)' > $n && python3 $n"
    inside.start(sandbox.wrap(["/bin/sh", "-c", command], ()))
    assert sandbox.changes() == [
        "only $TMPDIR is writable, not /tmp; writing was refused: /tmp/nanocoder-was-here"
    ]
    assert not os.path.exists("/tmp/nanocoder-was-here")


def test_a_virtual_environment_is_made(inside):  # noqa: F811
    done = inside.run(
        f"{SYSTEM_PYTHON} -m venv --without-pip $TMPDIR/env && $TMPDIR/env/bin/python -c 'print(1)'"
    )
    assert done.stdout == "1\n", done.stderr


def test_package_managers_do_not_wait_for_a_network(inside):  # noqa: F811
    done = inside.run("echo $npm_config_fetch_retries $PIP_RETRIES")
    assert done.stdout == "0 0\n"


def fill(folder):
    """Mount a file system of a page on *folder*."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k,mode=755", "tmpfs", str(folder)], check=True
    )
    while True:
        try:
            with open(folder / f"fill{time.monotonic_ns()}", "wb", buffering=0) as file:
                file.write(b"x" * 4096)
        except OSError:
            return


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts a file system")
@pytest.mark.parametrize("box", ["ourselves"], indirect=True)
def test_a_full_disk_is_said(inside):  # noqa: F811
    sandbox = inside.open()
    rules = sandbox._rules
    rules.mkdir()
    fill(rules)
    try:
        with pytest.raises(ToolError, match=str(rules)) as caught:
            sandbox.wrap(["/bin/true"], (), Access.READ)
        assert caught.value.error_class == "disk_full"
    finally:
        subprocess.run(["umount", str(rules)], check=True)
