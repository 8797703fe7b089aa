"""One process starts the commands of a session; each is as if it had been started by itself."""

import _socket
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from nanocoder_kit_process.processes import children
from nanocoder_kit_sandbox import ahead, launch, starter
from nanocoder_kit_sandbox.landlock import Landlocked
from nanocoder_kit_sandbox.starting import Starter
from running_processes import processes_with
from sandboxed_place import SECRET, inside  # noqa: F401

WHAT_RUNS = "tr '\\0' ' ' </proc/$PPID/cmdline"
LOOK_S = 0.01
MOST_S = 40
QUICK_COMMANDS = 40


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


@pytest.fixture
def without_starter(monkeypatch):
    """Have each command started by an interpreter of its own."""
    monkeypatch.setattr(Starter, "_runs", lambda _self: False)


def await_that(question):
    until = time.monotonic() + MOST_S
    while not question():
        assert time.monotonic() < until
        time.sleep(LOOK_S)


def runs(mark):
    """Tell whether a process has *mark* in its command line, and is no zombie."""
    return bool(processes_with(mark))


def test_no_interpreter_starts_for_a_command(inside):  # noqa: F811
    box = inside.open()
    for _ in range(3):
        argv = box.wrap(["/bin/sh", "-c", WHAT_RUNS], ())
        assert "import starter" in inside.start(argv).stdout


def test_a_command_starts_without_that_process(inside, without_starter):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", f"{WHAT_RUNS}; exit 3"], ())
    done = inside.start(argv)
    assert "import launch" in done.stdout
    assert done.returncode == 3


def starter_of(argv):
    """Return the four processes that wait for the request of the client *argv*."""
    # A folder for these programs, and that of the session, are the only words behind the program.
    words = f"starter.main()\0{os.path.dirname(launch.__file__)}\0{argv[3]}"
    await_that(lambda: len(processes_with(words)) == 4 and are_ready(processes_with(words)))
    return processes_with(words)


def are_ready(processes):
    """Tell whether the last of the *processes* waits for its command below the one before."""
    _, forker, broker, command = sorted(processes)
    return not [*children(forker)] and [child.pid for child in children(broker)] == [command]


@pytest.mark.parametrize("has_secrets", [False, True])
def test_each_command_is_run_by_processes_that_were_ready(inside, has_secrets):  # noqa: F811
    if not has_secrets:
        shutil.rmtree(inside.workspace / "private")
        (inside.workspace / ".env").unlink()
    box = inside.open()
    for _ in range(2):
        argv = box.wrap(["/bin/sh", "-c", "echo $PPID $$"], ())
        _, _, *ready = sorted(starter_of(argv))
        assert [int(number) for number in inside.start(argv).stdout.split()] == ready


def brand_process():
    """Give this process the limit by which each tool that starts commands knows them again."""
    resource.setrlimit(resource.RLIMIT_RTTIME, (1 << 61, 1 << 62))


def test_a_command_with_limits_of_its_own_is_run_by_processes_that_were_ready(inside):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", "echo $PPID $$; cat /proc/$PPID/limits"], ())
    _, _, *ready = sorted(starter_of(argv))
    output = subprocess.run(
        argv,
        cwd=inside.workspace,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=brand_process,
        check=True,
    ).stdout
    assert [int(number) for number in output.split("\n")[0].split()] == ready
    # The process beside the command is known by it, too.
    assert f"{1 << 61}" in output


def test_rules_are_for_the_files_that_are_there_when_a_command_starts(inside):  # noqa: F811
    box = inside.open()
    file = inside.workspace / "file"
    file.write_text("1")
    (inside.workspace / "folder").mkdir()
    reads = ["/bin/sh", "-c", "cat file; cat folder/file; echo new >folder/other"]
    assert inside.start(box.wrap(reads, ())).stdout == "1"
    for name in ("file", "folder/file"):
        beside = inside.workspace / "beside"
        beside.write_text("2")
        beside.rename(inside.workspace / name)
    assert inside.start(box.wrap(reads, ())).stdout == "22"
    assert (inside.workspace / "folder/other").read_text() == "new\n"


def test_what_was_made_ready_for_a_command_is_for_no_other_one(inside):  # noqa: F811
    box = inside.open()
    (inside.workspace / "sub").mkdir()
    (inside.workspace / "sub/plain").write_text("plain")
    reads = ["/bin/sh", "-c", "cat sub/plain; cat sub/.env"]
    earlier = box.wrap(reads, ())
    assert inside.start(earlier).stdout == "plain"
    (inside.workspace / "sub/.env").write_text(SECRET)
    later = box.wrap(reads, ())
    box.wrap(["/bin/true"], ())
    inside.start(earlier)
    for argv in (later, later, box.wrap(reads, ())):
        assert inside.start(argv).stdout == "plain"


@pytest.mark.parametrize("which", [1, 2, 3])
def test_a_command_runs_once_though_a_process_that_was_ready_is_gone(inside, which):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", f"echo x >>ran; {WHAT_RUNS}; exit 5"], ())
    _, forker, *pair = sorted(starter_of(argv))
    gone = [forker] if which == 1 else pair[which - 2 :]
    os.kill(gone[0], signal.SIGKILL)
    # The command ends with the process beside it, a moment after that.
    await_that(lambda: all(map(is_zombie, gone)))
    done = inside.start(argv)
    assert "import starter" in done.stdout
    assert done.returncode == 5
    assert (inside.workspace / "ran").read_text() == "x\n"


def test_a_command_that_is_quick_runs_once(inside):  # noqa: F811
    box = inside.open()
    ran = inside.workspace / "ran"
    ran.write_text("")
    for number in range(QUICK_COMMANDS):
        # A built-in command of a small shell ends before what runs beside it is awake.
        assert inside.start(box.wrap(["/bin/sh", "-c", "echo x >>ran"], ())).returncode == 0
        assert ran.read_text() == "x\n" * (number + 1)


def test_what_is_sent_whole_is_sent_though_its_reader_ends():
    """The reader may have become the command by then, which must not run twice."""
    for _ in range(QUICK_COMMANDS):
        ours, theirs = _socket.socketpair()
        reads = threading.Thread(target=lambda end=theirs: (end.recv(1 << 16), end.close()))
        reads.start()
        ahead.send(ours, {"word": "x"}, (2,))
        reads.join()
        ours.close()


def test_a_folder_in_place_of_the_workspace_can_be_changed(inside):  # noqa: F811
    box = inside.open()
    argv = box.wrap(["/bin/sh", "-c", "echo x >>ran; echo y >new; cat ran new"], ())
    starter_of(argv)
    inside.workspace.rename(inside.workspace.with_name("earlier"))
    inside.workspace.mkdir()
    argv = box.wrap(["/bin/sh", "-c", "echo x >>ran; echo y >new; cat ran new"], ())
    assert inside.start(argv).stdout == "x\ny\n"


def test_a_command_whose_starter_was_killed_starts_without_it(inside):  # noqa: F811
    box = inside.open()
    commands = [box.wrap(["/bin/sh", "-c", WHAT_RUNS], ()) for _ in range(3)]
    for process in starter_of(commands[0]):
        os.kill(process, signal.SIGKILL)
    assert ["import launch" in inside.start(argv).stdout for argv in commands] == [True] * 3
    assert "import launch" in inside.start(box.wrap(["/bin/sh", "-c", WHAT_RUNS], ())).stdout


def test_a_command_that_waits_for_a_killed_starter_starts_without_it(inside):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", f"{WHAT_RUNS}; exit 4"], ())
    processes = starter_of(argv)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    with open(f"{argv[3]}/{starter.ASK}", "r+b", buffering=0) as asked:
        poll = select.poll()
        poll.register(asked, select.POLLIN)
        with subprocess.Popen(argv, cwd=inside.workspace, stdout=subprocess.PIPE) as client:
            poll.poll()
            for process in processes:
                os.kill(process, signal.SIGKILL)
            assert b"import launch" in client.communicate()[0]
    assert client.returncode == 4


def test_a_request_that_is_lost_with_its_process_is_answered(tmp_path):
    program = (
        "import os, sys\n"
        "asked = os.open(sys.argv[1] + '/ask', os.O_RDWR)\n"
        "os.write(1, b'x')\n"
        "os.read(asked, 64)\n"
    )
    starting = Starter([sys.executable, "-c", program], tmp_path)
    try:
        argv = starting.through("rules", ["/bin/echo", "done"])
        assert argv[0] == "/bin/sh"
        assert subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout == b"done\n"
    finally:
        starting.close()


def test_a_client_that_ends_early_leaves_the_starter_there(inside):  # noqa: F811
    box = inside.open()
    argv = box.wrap(["/bin/true"], ())
    with open(f"{argv[3]}/{starter.ASK}", "wb", buffering=0) as asked:
        gone = subprocess.run(["/bin/true"], check=True)
        assert gone.returncode == 0
        asked.write(f"{2**22 - 1} {argv[4]} {argv[5]}".ljust(starter.REQUEST_BYTES).encode())
    assert "import starter" in inside.start(box.wrap(["/bin/sh", "-c", WHAT_RUNS], ())).stdout


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


WAIT_FOR_THE_LAST = """
import os, sys, time, types
from nanocoder_kit_sandbox import kernel, launch
process = os.fork()
if not process:
    time.sleep(0.3)
    os._exit(5)
listener, others = os.pipe()
os.close(others)  # nobody is left to ask, as while the last process ends
kernel.handle_of = lambda process, number: listener
told, answered = os.pipe(), os.pipe()
os.write(told[1], b"7")
looks = 0
def note(frame, event, argument):
    global looks
    looks += event == "call" and frame.f_code.co_name == "_reap"
sys.setprofile(note)
pipes = (told[0], answered[1])
status = launch._stand_by(process, types.SimpleNamespace(), pipes, (), lambda: None)
print(os.WEXITSTATUS(status), looks)
"""


def test_what_stays_beside_a_command_sleeps_while_that_ends():
    done = subprocess.run(
        [sys.executable, "-c", WAIT_FOR_THE_LAST], capture_output=True, check=True
    )
    code, looks = map(int, done.stdout.split())
    assert code == 5
    assert looks <= 2


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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_all_of_a_command_ends_with_its_client(inside, number):  # noqa: F811
    argv = inside.open().wrap(["/bin/sh", "-c", "setsid sleep 98765 & sleep 98765"], ())
    with subprocess.Popen(argv, cwd=inside.workspace) as client:
        await_that(lambda: len(processes_with("sleep\x0098765")) == 2)
        client.send_signal(number)
        assert client.wait(MOST_S)
        await_that(lambda: not runs("sleep\x0098765"))


def test_all_ends_with_a_killed_nanocoder(inside):  # noqa: F811
    program = (
        "import subprocess, sys, pathlib\n"
        "from nanocoder import SessionInfo\n"
        "from nanocoder_kit_sandbox import Settings\n"
        "from nanocoder_kit_sandbox.landlock import Landlocked\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "box = Landlocked(SessionInfo('killed', folder), Settings())\n"
        "subprocess.run(box.wrap(['/bin/sleep', '87654'], ()), cwd=folder)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(inside.workspace)]) as agent:
        await_that(lambda: runs("/bin/sleep\x0087654"))
        [ours] = [
            int(number)
            for number in filter(str.isdigit, os.listdir("/proc"))
            if is_starter_of(agent.pid, number)
        ]
        agent.kill()
        assert agent.wait(MOST_S) == -signal.SIGKILL
        await_that(lambda: not runs("/bin/sleep\x0087654"))
        await_that(lambda: not os.path.exists(f"/proc/{ours}") or is_zombie(ours))


def is_starter_of(parent, number):
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            is_child = int(file.read().rpartition(")")[2].split()[1]) == parent
        with open(f"/proc/{number}/cmdline", "rb") as file:
            return is_child and b"import starter" in file.read()
    except OSError:
        return False


def is_zombie(number):
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_process_ends_with_the_session(inside):  # noqa: F811
    box = inside.open()
    folder = os.path.dirname(box.wrap(["/bin/true"], ())[-3])
    assert runs(folder)
    inside.close()
    assert not runs(folder)


@pytest.fixture
def without_right(monkeypatch):
    """Be where the kernel lets a process be looked into by its ancestors only."""

    def refuse(_handle, _number):
        raise PermissionError

    monkeypatch.setattr(starter.kernel, "handle_of", refuse)


@contextmanager
def client_of(**streams):
    with subprocess.Popen(["/bin/sleep", "60"], **streams) as process:
        client = object.__new__(starter.Client)
        client._process, client._handle = process.pid, -1
        yield client, process
        process.kill()


def test_a_pipe_and_a_device_are_opened_once_more(without_right):
    with client_of(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as (client, process):
        opened = client._descriptor(1)
        os.write(opened, b"x")
        assert process.stdout.read(1) == b"x"
        assert os.get_blocking(opened)
        os.close(opened)
        os.close(client._descriptor(0))


def test_a_file_whose_place_is_shared_is_not_opened_once_more(without_right):
    with (
        open(__file__, "rb") as file,
        client_of(stdin=file) as (client, _),
        pytest.raises(PermissionError),
    ):
        client._descriptor(0)
