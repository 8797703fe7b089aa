"""Attacks by real programs: the tests of each sandbox import them all."""

import os
import shlex
import socket
import subprocess
import time

import pytest
from nanocoder import ToolError, Workspace
from nanocoder_kit_sandbox import Settings
from sandboxed_place import PYTHON, SECRET, TIME_S, inside, snapshot  # noqa: F401


# PROC-036
@pytest.mark.rows(6)
@pytest.mark.parametrize(
    "attack",
    [
        "echo x > $OUT/file",
        "echo x > $OUT/pwn",
        "ln -s $OUT l; echo x > l/pwn",
        "ln $OUT/file hard && echo x > hard",
        "mv $OUT/file .",
        "rm -rf $OUT",
        "touch -d 2000-01-01 $OUT/file",
        "chmod 777 $OUT/file",
        "truncate -s 0 $OUT/file",
        "mkfifo $OUT/pipe",
        "cp -a . $OUT/copy",
        "dd if=/dev/zero of=$OUT/file count=1 2>&1",
        'tar -C "$OUT" -xf <(tar -cf - .)',
        f'{PYTHON} \'import os; os.rename(".", os.environ["OUT"] + "/pwn")\'',
        "(setsid nohup bash -c 'sleep 0.3; echo x > $OUT/pwn' &) ; sleep 0.6",
        "cd / && echo x > etc/nanocoder-was-here",
        "echo x > /proc/self/root$OUT/pwn",
        "echo x > /proc/1/root$OUT/pwn",
        "echo x > $HOME/.bashrc",
    ],
)
def test_nothing_outside_changes(inside, attack):  # noqa: F811
    before = snapshot(inside.out), snapshot(inside.home)
    inside.run(attack)
    assert (snapshot(inside.out), snapshot(inside.home)) == before
    assert not os.path.lexists("/etc/nanocoder-was-here")


def test_the_workspace_is_writable(inside):  # noqa: F811
    (inside.workspace / "old").write_text("x")
    done = inside.run("echo y > old && cat old")
    assert (done.returncode, done.stdout) == (0, "y\n")
    assert (inside.workspace / "old").read_text() == "y\n"


# PROC-038, PATH-051
def test_a_link_that_is_made_inside_leads_no_tool_outside(inside):  # noqa: F811
    inside.run("ln -s $OUT l")
    with Workspace(inside.workspace) as workspace, pytest.raises(ToolError) as refused:
        workspace.write_text("l/pwn", "x")
    assert refused.value.error_class == "path_outside_workspace"
    assert not (inside.out / "pwn").exists()


# PROC-039
@pytest.mark.rows(7)
@pytest.mark.parametrize(
    ("attack", "left"),
    [
        ("mkdir -p .nanocoder && echo x > .nanocoder/config.toml", ".nanocoder/config.toml"),
        ("mkdir d && echo x > d/config.toml && mv d .nanocoder", ".nanocoder/config.toml"),
        ("ln -s d .nanocoder && mkdir d && echo x > d/config.toml", ".nanocoder/config.toml"),
        ("mkdir .vscode; echo '{}' > .vscode/tasks.json", ".vscode/tasks.json"),
        ("chmod 700 .vscode; echo '{}' > .vscode/tasks.json", ".vscode/tasks.json"),
        ("echo '{}' > .mcp.json", ".mcp.json"),
        ("echo x > .envrc", ".envrc"),
        ("mkdir -p .claude/hooks && echo x > .claude/settings.json", ".claude/settings.json"),
        ("mkdir -p .github/workflows; echo x > .github/workflows/a.yml", ".github/workflows"),
        ("echo evil > .git/config", "evil"),
        ("git config core.fsmonitor evil", "evil"),
        ("cp .git/config c && echo evil >> c && mv c .git/config", "evil"),
        ("mv .git g && cp -r g .git && echo evil >> .git/config", "evil"),
        ("echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("rm -rf .git/hooks; mkdir .git/hooks; echo x > .git/hooks/pre-commit", "pre-commit"),
        ("mkdir e; echo evil > e/config; echo ../e > .git/commondir", "../e"),
        ("echo '../e' > x; mv x .git/commondir", "../e"),
        ("mv sub other && mkdir -p sub/.vscode && echo evil > sub/.vscode/tasks.json", "evil"),
        ("echo evil > sub/.vscode/tasks.json", "evil"),
        ("umount .vscode .nanocoder; mkdir -p .vscode && echo x > .vscode/tasks.json", "tasks.js"),
    ],
)
def test_what_decides_what_runs_stays_as_it_is(inside, attack, left):  # noqa: F811
    (inside.workspace / "sub/.vscode").mkdir(parents=True)
    (inside.workspace / "sub/.vscode/tasks.json").write_text("good")
    config = (inside.workspace / ".git/config").read_bytes()
    hooks = sorted(os.listdir(inside.workspace / ".git/hooks"))
    inside.run(attack)
    inside.close()
    assert (inside.workspace / ".git/config").read_bytes() == config
    assert sorted(os.listdir(inside.workspace / ".git/hooks")) == hooks
    assert (inside.workspace / "sub/.vscode/tasks.json").read_text() == "good"
    assert not (inside.workspace / left).exists()
    assert not (inside.workspace / ".git/commondir").exists()
    assert inside.git("rev-parse", "--show-toplevel").strip() == str(inside.workspace)


@pytest.mark.rows(1)
def test_commands_follow_each_other_at_once(inside):  # noqa: F811
    box = inside.open()
    for delay_s in (0, 0.1, 0.2, 0.25, 0.3, 0.4, 0, 0):
        time.sleep(delay_s)
        done = inside.start(box.wrap(["/bin/sh", "-c", "mkdir -p .vscode/x; echo > .envrc"], ()))
        assert "bwrap:" not in done.stderr, done.stderr
    inside.close()
    assert not (inside.workspace / ".vscode").exists()
    assert not (inside.workspace / ".envrc").exists()


def test_nothing_is_made_in_the_workspace_to_protect_it(inside):  # noqa: F811
    before = set(os.listdir(inside.workspace))
    assert set(inside.run("ls -A").stdout.split()) == before
    assert set(os.listdir(inside.workspace)) == before


def test_the_workspace_is_not_made_a_bare_repository(inside):  # noqa: F811
    subprocess.run(["rm", "-rf", str(inside.workspace / ".git")], check=True)
    bare = "mkdir -p refs objects; echo 'ref: refs/heads/a' > HEAD; echo x > config"
    inside.run(f"{bare}; sleep 0.1")
    inside.close()
    assert not (inside.workspace / "HEAD").is_file()


# PROC-040
def test_a_protected_name_that_is_a_link_refuses_each_command(inside):  # noqa: F811
    (inside.workspace / "decoy").mkdir()
    (inside.workspace / ".nanocoder").symlink_to("decoy")
    with pytest.raises(
        ToolError, match=r"'\.nanocoder' decides what runs and is a link"
    ) as refused:
        inside.run("echo x > .nanocoder/config.toml")
    assert refused.value.error_class == "sandbox_unavailable"


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("pk/.vscode", "conf"),
        ("pk/a/.mcp.json", "conf/tasks.json"),
        ("pk/.vscode/tasks.json", "conf/tasks.json"),
        (".vscode/tasks.json", "conf/tasks.json"),
    ],
)
@pytest.mark.parametrize(
    "attack",
    ["echo evil > conf/tasks.json", "rm -r conf; mkdir conf; echo evil > conf/tasks.json",
     "mv conf c; cp -r c conf; echo evil > conf/tasks.json"],
)  # fmt: skip
def test_what_a_protected_link_leads_to_stays_as_it_is(inside, link, target, attack):  # noqa: F811
    (inside.workspace / "conf").mkdir()
    (inside.workspace / "conf/tasks.json").write_text("good")
    (inside.workspace / link).parent.mkdir(parents=True)
    (inside.workspace / link).symlink_to(inside.workspace / target)
    inside.run(attack)
    inside.close()
    assert (inside.workspace / "conf/tasks.json").read_text() == "good"


@pytest.mark.rows(5)
@pytest.mark.parametrize(
    "attack",
    [
        "cat .env",
        "cat private/notes",
        "cp .env copy; cat copy",
        "ln .env hard; cat hard",
        "mv .env moved; cat moved",
        "chmod 777 .env private; cat .env private/notes",
        "mount --bind / /mnt; cat /mnt$PWD/.env",
        "cat /proc/self/root$PWD/.env /proc/1/root$PWD/.env /proc/1/cwd/.env",
        "cat $HOME/.ssh/id_ed25519 $HOME/.netrc",
        "ls -la $HOME/.ssh && tar -cf - $HOME/.ssh",
        "grep -r SECRET . $HOME",
        "env; cat /proc/*/environ",
        "cat /proc/AGENT/environ",
    ],
)
def test_credentials_are_not_read(inside, attack, monkeypatch):  # noqa: F811
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    done = inside.run(attack.replace("AGENT", str(os.getpid())))
    assert SECRET not in done.stdout + done.stderr
    assert SECRET in (inside.workspace / ".env").read_text()


# PROC-046
@pytest.mark.rows(4)
@pytest.mark.parametrize(
    "attack",
    [
        "sudo -n id -u",
        "su -c 'id -u' </dev/null",
        "mount -t tmpfs x /mnt && echo 0",
        "unshare -Ur id -u",
        "unshare -Um id -u",
        "chroot / id -u",
        f"{PYTHON} 'import os; os.setuid(12345); print(0)'",
        "mknod disk b 8 0 && echo 0",
        "echo 100 > /proc/sys/kernel/watchdog_thresh && echo 0",
        "echo x > /proc/sysrq-trigger && echo 0",
    ],
)
def test_nothing_inside_gets_more_rights(inside, attack):  # noqa: F811
    done = inside.run(f"{attack} 2>/dev/null; grep NoNewPrivs /proc/self/status")
    assert done.stdout.split() == ["NoNewPrivs:", "1"]


# PROC-049
def test_no_signal_reaches_the_agent(inside):  # noqa: F811
    with subprocess.Popen(["sleep", "60"]) as victim:
        ours = os.getpid()
        done = inside.run(
            f"kill -0 {victim.pid} && echo seen; kill -9 {victim.pid}; kill -0 {ours} && echo seen;"
            " kill -TERM 1; pkill -9 sleep; kill -9 -1; true"
        )
        assert "seen" not in done.stdout
        assert victim.poll() is None
        victim.kill()


def test_nothing_outside_is_traced(inside):  # noqa: F811
    with subprocess.Popen(["sleep", "60"]) as victim:
        attach = (
            "import ctypes; c = ctypes.CDLL(None, use_errno=True);"
            f"print('traced' if c.ptrace(16, {victim.pid}, 0, 0) == 0 else 'refused')"
        )
        assert inside.run(f"{PYTHON} {shlex.quote(attach)}").stdout.strip() == "refused"
        victim.kill()


def test_no_letter_is_typed_at_the_terminal(inside):  # noqa: F811
    typed = (
        "import fcntl, os, sys\n"
        "for name in ('/dev/tty', '/proc/self/fd/0'):\n"
        "    try:\n"
        "        fcntl.ioctl(os.open(name, os.O_RDWR), 0x5412, b'x')\n"
        "        print('typed')\n"
        "    except OSError:\n"
        "        pass\n"
    )
    assert "typed" not in inside.run(f"{PYTHON} {shlex.quote(typed)}").stdout


# PROC-023
def test_the_environment_is_the_one_of_commands(inside, monkeypatch):  # noqa: F811
    for name, value in (("LD_PRELOAD", "./x.so"), ("BASH_ENV", "./x.sh"), ("A_TOKEN", SECRET)):
        monkeypatch.setenv(name, value)
    assert not {"LD_PRELOAD", "BASH_ENV", "A_TOKEN"} & {
        line.partition("=")[0] for line in inside.run("env").stdout.splitlines()
    }


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "attack",
    [
        "curl -sS -m 3 http://127.0.0.1:{port}/",
        "exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached >&3",
        f"{PYTHON} 'import socket; s = socket.create_connection((\"127.0.0.1\", {{port}}), 3)'",
        f'{PYTHON} \'import socket as s; s.socket(2, 2).sendto(b"x", ("127.0.0.1", {{port}}))\'',
    ],
)
def test_no_network_is_reached(inside, attack):  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", port))
            inside.run(attack.replace("{port}", str(port)))
            for each in (server, datagrams):
                each.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    each.recv(1) if each is datagrams else each.accept()


def test_no_socket_of_a_service_is_reached(inside):  # noqa: F811
    names = {"path": str(inside.out / "docker.sock"), "abstract": f"\0nanocoder-test-{os.getpid()}"}
    for name in names.values():
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()
            attack = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r})"
            inside.run(f"{PYTHON} {shlex.quote(attack)}", Settings(hidden=(str(inside.out),)))
            server.settimeout(0.05)
            with pytest.raises(TimeoutError):
                server.accept()


def test_what_runs_in_the_background_ends_with_the_command(inside):  # noqa: F811
    started = time.monotonic()
    sleep = f"sleep 31.{os.getpid()}"  # other sandboxes are tested at the same time
    inside.run(f"(setsid {sleep} </dev/null >/dev/null 2>&1 &); true")
    time.sleep(0.2)
    assert time.monotonic() - started < TIME_S
    listed = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True)
    assert sleep not in listed.stdout


def test_limits_hold_and_cannot_be_raised(inside):  # noqa: F811
    settings = Settings(cpu_s=7, memory_mb=512, processes=99, open_files=77, file_mb=1)
    done = inside.run("ulimit -t -d -u -n -f; ulimit -n 1000 || echo kept", settings)
    shown = [line.rpartition(" ")[2] for line in done.stdout.splitlines()]
    assert shown == ["7", "524288", "99", "77", "1024", "kept"]
    big = f"{PYTHON} 'x = bytearray(1 << 30)' || echo refused"
    assert inside.run(big, settings).stdout == "refused\n"
    inside.run("head -c 2000000 /dev/zero > big", settings)
    assert (inside.workspace / "big").stat().st_size == 1 << 20


@pytest.mark.rows(1)
def test_a_session_has_its_own_tmp(inside):  # noqa: F811
    box = inside.open()
    for command, output in (("echo x > /tmp/of-us; ls /tmp", "of-us\n"), ("cat /tmp/of-us", "x\n")):
        argv = box.wrap(["/bin/sh", "-c", command], ())
        done = subprocess.run(
            argv, cwd=inside.workspace, capture_output=True, text=True, check=False
        )
        assert output in done.stdout
    assert inside.run("cat /tmp/of-us").stdout == ""
    assert not os.path.exists("/tmp/of-us")


HOSTILE_TESTS = """
import os, pathlib, socket, subprocess

OUT = pathlib.Path(os.environ["OUT"])

def attempt(action):
    try:
        action()
    except OSError:
        pass

for place in (OUT, pathlib.Path.home(), pathlib.Path("/usr/local/bin"), pathlib.Path("/var/lib")):
    attempt(lambda: (place / "left-behind").write_text("x"))
attempt(lambda: pathlib.Path(".git/hooks/post-checkout").write_text("x"))
attempt(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 1))
subprocess.Popen(["setsid", "sh", "-c", f"sleep 1; touch {OUT}/late"])
"""


@pytest.mark.rows(1)
def test_a_hostile_repositorys_tests_leave_nothing_behind(inside):  # noqa: F811
    (inside.workspace / "test_all.py").write_text(HOSTILE_TESTS)
    before = snapshot(inside.out), snapshot(inside.home), snapshot(inside.workspace / ".git/hooks")
    with socket.create_server(("127.0.0.1", 0)) as server:
        inside.run(f"{PYTHON[:-3]} test_all.py", PORT=str(server.getsockname()[1]))
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()
    time.sleep(1.2)
    after = snapshot(inside.out), snapshot(inside.home), snapshot(inside.workspace / ".git/hooks")
    assert after == before
    for place in ("/usr/local/bin", "/var/lib"):
        assert not os.path.exists(f"{place}/left-behind")


def test_sockets_that_can_be_seen_cannot_be_connected_to(inside):  # noqa: F811
    """A socket somewhere in the file system, as that of a key agent or of docker."""
    name = str(inside.out / "agent.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        connect = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r})"
        done = inside.run(f"{PYTHON} {shlex.quote(connect)} && echo reached")
        assert "reached" not in done.stdout
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()


def test_sockets_of_programs_inside_work(inside):  # noqa: F811
    talk = (
        "import os, socket\n"
        "server = socket.socket(socket.AF_UNIX); server.bind('own.sock'); server.listen()\n"
        "client = socket.socket(socket.AF_UNIX); client.connect('own.sock')\n"
        "client.sendall(b'hello'); print(server.accept()[0].recv(5).decode())\n"
    )
    assert inside.run(f"{PYTHON} {shlex.quote(talk)}").stdout == "hello\n"


@pytest.mark.rows(1)
def test_a_command_that_starts_late_starts(inside):  # noqa: F811
    """The look for what runs inside takes no lock, so it cannot get in the way of a start."""
    argv = inside.open().wrap(["/bin/echo", "started"], ())
    for _ in range(12):
        time.sleep(0.13)
        assert inside.start(argv).stdout == "started\n"
