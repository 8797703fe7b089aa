"""A sandbox that was made before its command shows what one that is made now would show."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import attrs
import pytest
import standby_box
from nanocoder_kit_sandbox import place, standby
from nanocoder_kit_sandbox.foresight import PAUSE_S
from nanocoder_kit_sandbox.leftovers import NOTE
from nanocoder_kit_sandbox.standby_attendant import READY
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from running_processes import processes_with
from sandboxed_place import SECRET, inside  # noqa: F401
from standby_box import LOOK_S, MOST_S, await_ready, is_ahead, wrap_ahead

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E1")]
NOBODY = 65_534
WORDS_OF_CLIENT = 7


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


@pytest.fixture
def opened(inside):  # noqa: F811
    """Return the sandbox of a session that has one ready, for a workspace with all kinds of names.

    Each was there before the session.
    """
    folder = inside.workspace / "sub/.vscode"
    folder.mkdir(parents=True)
    (folder / "tasks.json").write_text("good")
    (inside.workspace / ".mcp.json").write_text("good")
    (inside.workspace / "sub/.env").write_text(SECRET)
    opened = inside.open()
    inside.start(shell(opened, "true"))
    await_ready(opened)
    await_that(lambda: opened._inside.place.is_idle)
    assert opened.changes() == []
    return opened


@pytest.fixture
def unhurried(opened, monkeypatch):
    """Return a sandbox in which a command is about to start until it does, on a busy machine too.

    Otherwise what is put in place of a folder would be moved away as left by that command.
    """
    for name in ("START_S", "MEANWHILE_S"):
        monkeypatch.setattr(place, name, float(MOST_S))
    return opened


def shell(opened, command):
    return opened.wrap(["/bin/bash", "--norc", "-c", command], ())


def shell_ahead(opened, command):
    """Wrap a command for a sandbox that was made before."""
    return wrap_ahead(opened, opened, ["/bin/bash", "--norc", "-c", command])


def await_that(question):
    until = time.monotonic() + MOST_S
    while not question():
        assert time.monotonic() < until
        time.sleep(LOOK_S)


def folder_of(opened):
    return opened._standby._folder


def test_each_command_has_a_sandbox_of_its_own_that_was_there_before(inside, opened):  # noqa: F811
    namespaces = set()
    for _ in range(3):
        argv = shell_ahead(
            opened, "readlink /proc/self/ns/pid /proc/self/ns/mnt; ls -d /proc/[0-9]*"
        )
        done = inside.start(argv)
        namespaces.update(done.stdout.split()[:2])
        # The first process, what waited, and the shell, which became `ls`.
        assert len(done.stdout.split()[2:]) == 3
        opened.changes()
        await_ready(opened)
    assert len(namespaces) == 6


def test_while_a_sandbox_waits_nothing_is_held_and_nothing_runs(inside, opened):  # noqa: F811
    await_that(lambda: opened._inside.place.is_idle)
    assert sorted(os.listdir(inside.workspace)) == [".env", ".git", ".mcp.json", "private", "sub"]
    argv = shell_ahead(opened, "ls -A; echo > running; while [ -e running ]; do sleep 0.01; done")
    with subprocess.Popen(argv, cwd=inside.workspace, stdout=subprocess.PIPE, text=True) as process:
        await_that((inside.workspace / "running").exists)
        assert not opened._inside.place.is_idle
        assert (inside.workspace / ".idea").is_dir()
        (inside.workspace / "running").unlink()
        assert ".idea" in process.communicate()[0].split()
    await_that(lambda: opened._inside.place.is_idle)
    assert not (inside.workspace / ".idea").exists()


def await_all_ready(opened, least):
    """Wait until the sandboxes for the next commands are ready, and those that were made before."""
    standby = opened._standby
    await_that(lambda: len(standby._waiting) >= least and not opened._foresight._woken.is_set())
    time.sleep(PAUSE_S + 0.1)  # the look itself
    await_that(lambda: all(standby._path(READY, number).exists() for number in standby._waiting))


def ahead_after_a_call(opened, commands):
    """Wrap *commands* after the end of a call, each for a sandbox that was made since.

    Programs of this machine open sockets meanwhile, so the first ones may be for another list.
    """
    for _ in range(standby_box.MOST_TRIES):
        opened.changes()
        await_all_ready(opened, len(commands))
        wrapped = [shell(opened, command) for command in commands]
        if all(map(is_ahead, wrapped)):
            return wrapped
    raise AssertionError("what was made at the end of a call could not be used")


@pytest.fixture
def opened_twice(inside, opened):  # noqa: F811
    """Return the sandbox of a session in which two commands have run at the same time."""
    for argv in (shell(opened, "true"), shell(opened, "true")):
        inside.start(argv)
    opened.changes()
    await_all_ready(opened, 2)
    return opened


def test_what_a_call_changed_is_in_the_sandbox_of_the_next_command(inside, opened):  # noqa: F811
    inside.start(shell(opened, "mkdir -p new/.zed && echo 1 >new/.env"))
    (inside.workspace / "new/.env").write_text(SECRET)
    (argv,) = ahead_after_a_call(opened, ["cat new/.env; ls -d new; ls -A new"])
    done = inside.start(argv)
    assert SECRET not in done.stdout
    assert "new" in done.stdout


def test_two_commands_at_the_same_time_each_find_one_that_is_ready(inside, opened_twice):  # noqa: F811
    waits = "echo >{0}; while [ ! -e {1} ]; do sleep 0.01; done; readlink /proc/self/ns/pid"
    both = [waits.format(*names) for names in (("a", "b"), ("b", "a"))]
    commands = [*ahead_after_a_call(opened_twice, both), shell(opened_twice, "echo third")]
    assert not is_ahead(commands[-1])
    pipes = {"cwd": inside.workspace, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(argv, **pipes) for argv in commands]
    assert len({process.communicate(timeout=MOST_S)[0] for process in processes}) == 3


@pytest.mark.parametrize("change", ["settings", "a secret"])
def test_none_of_two_that_are_ready_is_used_after_a_change(inside, opened_twice, change):  # noqa: F811
    if change == "settings":
        opened_twice._settings = attrs.evolve(opened_twice._settings, network=True)
    else:
        (inside.workspace / "new.pem").write_text(SECRET)
        (inside.workspace / "sub/new").mkdir()
        (inside.workspace / "sub/new/.env").write_text(SECRET)
    commands = [shell(opened_twice, "cat sub/new/.env; true") for _ in range(2)]
    assert not any(map(is_ahead, commands))
    assert not any(SECRET in inside.start(argv).stdout for argv in commands)
    await_that(lambda: len(processes_with(str(folder_of(opened_twice)))) == 1)


def test_fifty_commands_at_the_same_time_each_run_once(inside, opened_twice):  # noqa: F811
    commands = [shell(opened_twice, f"echo {number} >>ran; exit {number}") for number in range(50)]
    processes = [subprocess.Popen(argv, cwd=inside.workspace) for argv in commands]
    assert [process.wait(MOST_S) for process in processes] == [*range(50)]
    ran = (inside.workspace / "ran").read_text().split()
    assert sorted(map(int, ran)) == [*range(50)]
    opened_twice.changes()
    await_all_ready(opened_twice, 2)
    assert len(opened_twice._standby._waiting) == standby.MOST_READY


@pytest.mark.parametrize("delay_s", [0, 1])
def test_what_was_stopped_beside_a_sandbox_ends_with_the_session(inside, opened, delay_s):  # noqa: F811
    argv = shell_ahead(opened, "sleep 432.25")
    own = opened._standby._process.pid
    with subprocess.Popen(argv, cwd=inside.workspace) as process:
        time.sleep(delay_s)
        for attendant in processes_with(str(folder_of(opened))):
            if attendant not in (process.pid, own):
                os.kill(attendant, signal.SIGSTOP)
        process.kill()
    opened._standby.close()
    await_that(lambda: not processes_with("sleep\x00432.25"))
    await_that(lambda: not processes_with(str(folder_of(opened))))


def test_held_folders_stay_while_a_sandbox_starts_however_long_that_takes(inside, opened):  # noqa: F811
    argv = shell(opened, "true")
    held = inside.workspace / ".idea"
    held.mkdir()
    # It has the words of a sandbox that is stopped between its folders and its lock.
    waits = ["/bin/sh", "-c", "read -r end", *argv]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as process:
        time.sleep(place.START_S + 3 * place.LOOK_S)
        assert held.is_dir()
        process.communicate(b"\n")
    await_that(lambda: not held.exists())


def test_a_process_that_makes_sandboxes_and_was_stopped_holds_up_nothing(inside, opened):  # noqa: F811
    os.kill(opened._standby._process.pid, signal.SIGSTOP)
    for number in range(4):
        assert inside.start(shell(opened, f"echo {number}")).stdout == f"{number}\n"
        opened.changes()
    opened._standby.close()
    await_that(lambda: not processes_with(str(folder_of(opened))))


def test_no_sandbox_is_made_before_a_first_command(inside):  # noqa: F811
    opened = inside.open()
    opened.changes()
    assert os.listdir(folder_of(opened)) == []
    assert not is_ahead(shell(opened, "true"))


def replace(path, text):
    beside = path.with_name("beside")
    beside.write_text(text)
    beside.replace(path)


def anew(path, text):
    path.unlink()
    path.write_text(text)


def swap(path):
    """Put a folder with the same names in place of another one."""
    copy = path.parent / "copy"
    shutil.copytree(path, copy, symlinks=True)
    path.rename(path.with_name("earlier"))
    copy.rename(path)


def another_home(ws):
    swap(ws.parent / "home/.ssh")


SECRETS = {
    "a new secret": lambda ws: (ws / "new").mkdir() or (ws / "new/.env").write_text(SECRET),
    "a new file in place of a secret": lambda ws: replace(ws / ".env", SECRET),
    "a secret that was removed and made": lambda ws: anew(ws / "sub/.env", SECRET),
    "a new folder in place of a secret": lambda ws: swap(ws / "private"),
    "a new folder around a secret": lambda ws: swap(ws / "sub"),
    "another workspace": swap,
    "another folder of keys": another_home,
    "nothing": lambda _ws: None,
}
# What is made after the look at the workspace is not known to any sandbox.
READ = "cat .env new/.env sub/.env earlier/.env private/notes $HOME/.ssh/id_ed25519; ls; true"
AFTER = [name for name in SECRETS if name != "a new secret"]


@pytest.mark.parametrize("change", SECRETS)
def test_a_secret_that_came_since_is_not_read(inside, opened, change):  # noqa: F811
    SECRETS[change](inside.workspace)
    done = inside.start(shell(opened, READ))
    assert SECRET not in done.stdout
    assert "sub" in done.stdout


@pytest.mark.parametrize("change", AFTER)
def test_a_secret_that_is_replaced_at_the_last_moment_is_not_read(inside, unhurried, change):  # noqa: F811
    argv = shell_ahead(unhurried, "cat .env sub/.env private/notes $HOME/.ssh/id_ed25519; ls; true")
    SECRETS[change](inside.workspace)
    done = inside.start(argv)
    assert SECRET not in done.stdout
    assert "sub" in done.stdout


PROTECTED = {
    "a new folder below": lambda ws: (ws / "b/.vscode").mkdir(parents=True),
    "a new one at the root": lambda ws: (ws / ".idea").mkdir(),
    "a new file in place of one": lambda ws: replace(ws / ".mcp.json", "good"),
    "a new folder in place of one": lambda ws: swap(ws / "sub/.vscode"),
    "a new folder around one": lambda ws: swap(ws / "sub"),
    "another workspace": swap,
}
WRITE = (
    "for f in b/.vscode .idea .mcp.json sub/.vscode; do"
    " echo evil >$f; echo evil >$f/tasks.json; rm -r $f; mv $f moved; done 2>/dev/null;"
    " mv sub moved && mkdir -p sub/.vscode && echo evil >sub/.vscode/tasks.json; echo ran >mark"
)


# What comes after the look at the workspace is moved away afterwards, as what a command makes.
LATE = [name for name in PROTECTED if name not in ("a new folder below", "a new one at the root")]


@pytest.mark.parametrize(
    ("change", "is_late"),
    [*((name, False) for name in PROTECTED), *((name, True) for name in LATE)],
)
def test_what_decides_what_runs_stays_though_it_came_since(inside, unhurried, change, is_late):  # noqa: F811
    if is_late:
        argv = shell_ahead(unhurried, WRITE)
    PROTECTED[change](inside.workspace)
    done = inside.start(argv if is_late else shell(unhurried, WRITE))
    ws = inside.workspace
    assert done.returncode == 0, done
    assert (ws / "mark").read_text() == "ran\n"
    assert (ws / ".mcp.json").read_text() == "good"
    assert (ws / "sub/.vscode/tasks.json").read_text() == "good"
    for name in ("b/.vscode", ".idea"):
        assert not (ws / name).exists() or os.listdir(ws / name) == []


def test_a_link_in_place_of_a_held_name_leads_nowhere(inside, opened):  # noqa: F811
    (inside.workspace / "target").mkdir()
    argv = shell_ahead(opened, "echo evil >.idea/x; echo evil >target/y")
    (inside.workspace / ".idea").symlink_to("target")
    inside.start(argv)
    assert "x" not in os.listdir(inside.workspace / "target")


def test_other_settings_get_another_sandbox(inside, opened):  # noqa: F811
    opened._settings = attrs.evolve(opened._settings, network=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        argv = shell(opened, f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo yes")
        assert not is_ahead(argv)
        assert inside.start(argv).stdout == "yes\n"
        opened.changes()
        await_ready(opened)
        opened._settings = attrs.evolve(opened._settings, network=False)
        argv = shell(opened, f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo yes")
        assert not is_ahead(argv)
        assert inside.start(argv).stdout == ""


def test_a_socket_that_listens_since_then_is_not_reached(inside, opened):  # noqa: F811
    path = inside.out / "agent.sock"
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r}); print(1)"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        done = inside.start(shell(opened, f'/usr/bin/env python3 -c "{connect}"'))
    assert done.stdout == ""


COMMANDS = {
    "environment": "env | sort; pwd",
    "limits": "ulimit -a; ulimit -Ha; umask",
    # The C library's `posix_spawn` has two signals ignored that are its own.
    "state": "grep -E '^(Sig[PBC]|Cap|No|Seccomp:|Uid|Gid|Groups)' /proc/self/status; trap",
    "open files": "ls /proc/self/fd",
    "where it is": "cd sub && pwd && ls -A ..; echo $PWD",
    "processes": "ls -d /proc/[0-9]*; cat /proc/1/comm; ps -o pid,sid,pgid,tty,nice -p $$",
    "mounts": "cut -d' ' -f4-6 /proc/self/mountinfo | grep -v nanocoder.lock | sort",
    "code": "echo x; echo y >&2; exit 7",
    "killed": "kill -9 $$",
    "interrupted": "kill -INT $$",
    "no input": "cat; exit 0",
    "left running": "sleep 600 & (setsid sleep 600 >/dev/null 2>&1 &); sleep 0.2; echo hi; exit 4",
    "ended itself": "sleep 600 & kill $!; wait; true",
    "its parent": "kill -9 $PPID; sleep 5",
    "a pipe": "yes | head -1",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_as_in_a_sandbox_that_is_new(inside, opened, name):  # noqa: F811
    argv = shell_ahead(opened, COMMANDS[name])
    fresh = argv[WORDS_OF_CLIENT:]
    done = [inside.start(each, {"BRAND": "x", "PWD": "/elsewhere"}) for each in (argv, fresh)]
    assert [(each.stdout, each.stderr, each.returncode) for each in done[:1]] == [
        (each.stdout, each.stderr, each.returncode) for each in done[1:]
    ]
    assert (NOTE in done[0].stderr) == (name == "left running")


def test_what_waited_has_nothing_open_that_leads_out(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "cd /proc/$PPID && echo fd/*; ls -l fd | grep socket; cat cmdline")
    first, *others = inside.start(argv).stdout.split("\n")
    assert first == "fd/0 fd/1 fd/2"
    assert "socket" not in others[0]


def test_a_program_that_is_missing_is_named(inside, opened):  # noqa: F811
    done = inside.start(opened.wrap(["no-such-program", "x"], ()))
    assert done.returncode == 127
    assert "no-such-program" in done.stderr


def test_limits_that_the_client_has_hold(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "ulimit -s")
    limited = ["/bin/sh", "-c", 'ulimit -s 4096; exec "$@"', "sh", *argv]
    assert inside.start(limited).stdout == "4096\n"


def test_a_command_has_the_mark_of_its_call(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "grep 'realtime timeout' /proc/self/limits; cat /proc/$PPID/cmdline")
    waits = ["/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh", *argv]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(waits, cwd=inside.workspace, **pipes) as process:
        resource.prlimit(process.pid, resource.RLIMIT_RTTIME, (1 << 60, 1 << 61))
        printed = process.communicate("\n")[0]
    assert printed.split()[3:5] == [str(1 << 60), str(1 << 61)]
    assert "_receive" in printed  # it was started by what waited


def test_the_same_words_run_a_second_time_in_a_new_sandbox(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "echo x >>ran; readlink /proc/self/ns/pid")
    assert len({inside.start(argv).stdout for _ in range(3)}) == 3
    assert (inside.workspace / "ran").read_text() == "x\n" * 3


def test_a_command_whose_sandbox_was_killed_gets_a_new_one(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "echo x >>ran; exit 5")
    for process in processes_with("standby_attendant.main()"):
        if str(folder_of(opened)) in " ".join(_words(process)):
            os.kill(process, signal.SIGKILL)
    assert inside.start(argv).returncode == 5
    assert (inside.workspace / "ran").read_text() == "x\n"


def _words(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().decode().split("\0")
    except OSError:
        return []


def test_a_command_whose_attendant_is_killed_ends_and_runs_once(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "echo x >>ran; sleep 654.25")
    with subprocess.Popen(argv, cwd=inside.workspace) as process:
        await_that(lambda: processes_with("sleep\x00654.25"))
        for attendant in processes_with(str(folder_of(opened))):
            if attendant != process.pid:
                os.kill(attendant, signal.SIGKILL)
        assert process.wait(MOST_S) == 137
    await_that(lambda: not processes_with("sleep\x00654.25"))
    assert (inside.workspace / "ran").read_text() == "x\n"


@pytest.mark.parametrize("delay_s", [0, 0.001, 0.003, 0.006, 0.012, 0.025])
def test_a_command_that_is_cancelled_while_it_starts_leaves_nothing(inside, opened, delay_s):  # noqa: F811
    argv = shell_ahead(opened, "sleep 765.25")
    with subprocess.Popen(argv, cwd=inside.workspace, stdout=subprocess.DEVNULL) as process:
        time.sleep(delay_s)
        process.kill()
    await_that(lambda: not processes_with("sleep\x00765.25"))
    time.sleep(0.1)
    assert not processes_with("sleep\x00765.25")
    assert inside.start(shell(opened, "echo on")).stdout == "on\n"


SESSION = """
import os, subprocess, sys
from pathlib import Path
from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from standby_box import ready, await_ready
box = ready(Bubblewrap)(SessionInfo("s", Path(sys.argv[1])), Settings())
box.wrap(["/bin/true"], ())
running = subprocess.Popen(box.wrap(["/bin/sleep", "876.25"], ()), cwd=sys.argv[1])
await_ready(box)
print(box._standby._folder, flush=True)
running.wait()
"""


def test_a_session_that_is_killed_leaves_no_process(inside):  # noqa: F811
    here = os.path.dirname(standby_box.__file__)
    environ = {**os.environ, "TMPDIR": str(inside.root / "tmp"), "PYTHONPATH": here}
    argv = [sys.executable, "-c", SESSION, str(inside.workspace)]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True) as session:
        folder = os.path.dirname(session.stdout.readline().strip())
        await_that(lambda: processes_with("sleep\x00876.25"))
        assert len(processes_with(folder)) > 3
        session.kill()
    await_that(lambda: not processes_with(folder) and not processes_with("sleep\x00876.25"))


def test_commands_run_on_though_the_process_that_makes_sandboxes_is_gone(inside, opened):  # noqa: F811
    opened._standby._process.kill()
    opened._standby._process.wait()
    for _ in range(standby.MOST_FAILURES + 2):
        assert inside.start(shell(opened, "echo x")).stdout == "x\n"
        opened.changes()
    await_that(lambda: not processes_with(str(folder_of(opened))))


SHORT_SESSION = """
import os, signal, subprocess, sys, time
from pathlib import Path
from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
box = Bubblewrap(SessionInfo("s", Path(sys.argv[1])), Settings())
subprocess.run(box.wrap(["/bin/true"], ()), cwd=sys.argv[1], check=True)
box.changes()
time.sleep(float(sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL) if sys.argv[3] == "killed" else box.close()
"""


@pytest.mark.parametrize("end", ["killed", "closed"])
@pytest.mark.parametrize("delay_s", [0, 0.022, 0.026, 0.03, 0.035, 0.04, 0.05])
def test_a_session_that_ends_while_a_sandbox_is_made_leaves_no_process(inside, delay_s, end):  # noqa: F811
    environ = {**os.environ, "TMPDIR": str(inside.root / "tmp")}
    argv = [sys.executable, "-c", SHORT_SESSION, str(inside.workspace), str(delay_s), end]
    subprocess.run(argv, env=environ, check=end == "closed")
    await_that(lambda: not processes_with(str(inside.root)))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_the_client_of_another_user_gets_no_sandbox_of_ours(inside, opened):  # noqa: F811
    argv = shell_ahead(opened, "id -u")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(inside.root)], check=True)
    other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    assert inside.start([*other, *argv]).stdout == f"{NOBODY}\n"
    subprocess.run(["chown", "-R", "0:0", str(inside.root)], check=True)


def test_where_none_can_be_made_no_more_are_tried(inside):  # noqa: F811
    opened = inside.open()
    opened._python = "/no/such/program"
    for _ in range(standby.MOST_FAILURES + 3):
        assert inside.start(shell(opened, "echo x")).stdout == "x\n"
        opened.changes()
        failed = folder_of(opened) / f"{opened._standby._number}.failed"
        await_that(lambda failed=failed: failed.exists())
    assert opened._standby._number == standby.MOST_FAILURES
