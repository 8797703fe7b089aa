"""Each command is started by one program, and is as if it had been started by itself."""

import os
import signal
import subprocess
import sys
import time

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from running_processes import processes_with
from sandboxed_place import inside  # noqa: F401

LOOK_S = 0.01
MOST_S = 40


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


def await_that(question):
    until = time.monotonic() + MOST_S
    while not question():
        assert time.monotonic() < until
        time.sleep(LOOK_S)


def runs(mark):
    """Return True if a process has *mark* in its command line, and is no zombie."""
    return bool(processes_with(mark))


def test_an_argument_vector_can_be_run_twice(inside):  # noqa: F811
    argv = inside.open().wrap(["/bin/echo", "done"], ())
    assert [inside.start(argv).stdout for _ in range(3)] == ["done\n"] * 3


def test_a_command_has_the_place_limits_and_variables_of_its_client(inside):  # noqa: F811
    (inside.workspace / "sub").mkdir()
    argv = inside.open().wrap(
        ["/bin/sh", "-c", 'pwd; umask; ulimit -s; echo "$MINE"; cat; echo no >&2; exit 7'], ()
    )
    client = ["/bin/sh", "-c", 'umask 027; ulimit -s 4321; exec "$@"', "sh", *argv]
    done = subprocess.run(
        client,
        cwd=inside.workspace / "sub",
        env={"PATH": os.defpath, "MINE": "a\nb"},
        input=b"typed\n",
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == f"{inside.workspace}/sub\n0027\n4321\na\nb\ntyped\n"
    assert (done.stderr, done.returncode) == (b"no\n", 7)


def test_a_file_that_output_is_added_to_is_not_overwritten(inside):  # noqa: F811
    log = inside.out / "log"
    log.write_text("before\n")
    with log.open("ab") as file:
        argv = inside.open().wrap(["/bin/echo", "after"], ())
        subprocess.run(argv, cwd=inside.workspace, stdout=file, check=True)
    assert log.read_text() == "before\nafter\n"


def test_a_signal_is_the_commands_end(inside):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", "kill -TERM $$"], ())
    assert inside.start(argv).returncode == 128 + signal.SIGTERM


def test_a_writer_without_a_reader_ends(inside):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", "yes | head -1"], ())
    assert inside.start(argv).stdout == "y\n"


def test_commands_can_run_side_by_side(inside):  # noqa: F811
    box = inside.open()
    clients = [
        subprocess.Popen(
            box.wrap(["/bin/sh", "-c", f"sleep 0.2; echo {number}; exit {number}"], ()),
            cwd=inside.workspace,
            stdout=subprocess.PIPE,
        )
        for number in range(8)
    ]
    outputs = [client.communicate(timeout=MOST_S)[0] for client in clients]
    assert outputs == [f"{number}\n".encode() for number in range(8)]
    assert [client.returncode for client in clients] == [*range(8)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_all_of_a_command_ends_with_its_client(inside, number):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", "setsid sleep 98765 & sleep 98765"], ())
    with subprocess.Popen(argv, cwd=inside.workspace) as client:
        await_that(lambda: len(processes_with("sleep\x0098765")) == 2)
        client.send_signal(number)
        assert client.wait(MOST_S)
        await_that(lambda: not runs("sleep\x0098765"))


KILLED = """
import pathlib, subprocess, sys
from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_landlock.landlock import Landlocked
folder = pathlib.Path(sys.argv[1])
box = Landlocked(SessionInfo("killed", folder), Settings())
argv = box.wrap(["/bin/sh", "-c", "setsid sleep 87654 & exec /bin/sleep 87654"], ())
subprocess.run(argv, cwd=folder)
"""


@pytest.mark.parametrize("wait_s", [0, 0.01, 0.02, 0.05, 1])
def test_all_ends_with_a_killed_nanocoder(inside, wait_s):  # noqa: F811
    with subprocess.Popen([sys.executable, "-c", KILLED, str(inside.workspace)]) as agent:
        await_that(lambda: runs("exec /bin/sleep 87654"))
        time.sleep(wait_s)
        agent.kill()
        assert agent.wait(MOST_S) == -signal.SIGKILL
        await_that(lambda: not runs("sleep\x0087654") and not runs("exec /bin/sleep 87654"))


WAIT_FOR_THE_LAST = """
import os, sys, time
from nanocoder_sandbox_landlock import launch
process = os.fork()
if not process:
    time.sleep(0.3)
    os._exit(5)
listener, others = os.pipe()
os.close(others)  # nobody is left to ask, as while the last process ends
looks = 0
def note(frame, event, argument):
    global looks
    looks += event == "call" and frame.f_code.co_name == "_reap"
sys.setprofile(note)
beside = object.__new__(launch._Beside)
beside._ended = {}
beside._answer_until_end(os.pidfd_open(process), listener)
print(os.WEXITSTATUS(beside._ended.get(process) or os.waitpid(process, 0)[1]), looks)
"""


def test_what_stays_beside_a_command_sleeps_while_that_ends():
    done = subprocess.run(
        [sys.executable, "-c", WAIT_FOR_THE_LAST], capture_output=True, check=True
    )
    code, looks = map(int, done.stdout.split())
    assert code == 5
    assert looks <= 2


def test_a_folder_in_place_of_the_workspace_can_be_changed(inside):  # noqa: F811
    """Rules are for the files that are there when a command starts."""
    box = inside.open()
    for _ in range(2):
        assert (
            inside.start(box.wrap(["/bin/sh", "-c", "echo x > new; cat new"], ())).stdout == "x\n"
        )
        inside.workspace.rename(inside.root / f"ws{time.monotonic_ns()}")
        inside.workspace.mkdir()


SLOW = ("os", "ctypes", "enum", "re", "signal", "typing", "subprocess", "collections", "functools")
IMPORTED = """
import sys
leave = launch.leave
launch.leave = lambda code: (print(*sys.modules), sys.stdout.flush(), leave(code))
"""


def test_what_starts_a_command_imports_little(inside):  # noqa: F811
    (inside.workspace / ".env").unlink()
    (inside.workspace / "private/notes").unlink()
    (inside.workspace / "private").rmdir()
    argv = inside.open().wrap(["/bin/true"], ())
    at = argv.index("-c") + 1
    argv[at] = argv[at].replace("launch.main()", f"exec({IMPORTED!r}); launch.main()")
    modules = inside.start(argv).stdout.split()
    assert "select" in modules
    assert not set(SLOW) & set(modules)
