"""A command that may only read: what it writes in the workspace is thrown away, or refused."""

import os
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path

import pytest
from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.layers import MAX_NAMES
from nanocoder_sandbox_bwrap import namespaces
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandboxed_place import (
    PYTHON,
    SECRET,
    SYSTEM_PYTHON,
    Inside,
    below_tmp,  # noqa: F401
    inside,  # noqa: F401
    repository,  # noqa: F401
    snapshot,
)

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E1")]
NOBODY = 65_534
SAID = "the workspace is read-only in this mode; these files would have changed: "


class WithoutLayers(Bubblewrap):
    """Bubblewrap where the system has no namespaces to share: the workspace is bound read-only."""

    def __init__(self, session, settings):
        super().__init__(session, settings)
        self._namespaces.enter = lambda *_: []


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


@pytest.fixture
def opened(repository):  # noqa: F811
    """Return the sandbox of a session in a repository."""
    return repository.open()


def read(place, box, command):
    """Run a command that may only read."""
    argv = box.wrap(["/bin/bash", "--norc", "-c", command], (), Access.READ)
    return place.start(argv)


ATTACKS = (
    "echo x > file; echo x > new; rm evil; mkdir -p d/e; ln -s /etc l",
    "mv file moved; chmod 777 evil; touch -d 2000-01-01 evil; truncate -s 0 evil",
    "git add -A; git commit -qm x --allow-empty; git stash; git checkout -q -b other; git gc -q",
    "rm -rf .git; git init -q; git config core.fsmonitor evil",
    "mkdir .vscode; echo x > .envrc; echo x > sub/.mcp.json",
    "cp -r .git copy; rm -rf *",
)


@pytest.mark.rows(5)
@pytest.mark.parametrize("command", ATTACKS)
@pytest.mark.parametrize("box", [Bubblewrap, WithoutLayers])
def test_the_workspace_does_not_change(repository, box, command):  # noqa: F811
    (repository.workspace / "sub").mkdir()
    before = snapshot(repository.workspace)
    opened = repository.open()
    read(repository, opened, command)
    opened.changes()
    repository.close()
    assert snapshot(repository.workspace) == before


def test_a_write_works_and_is_said_to_be_thrown_away(repository, opened):  # noqa: F811
    done = read(repository, opened, "echo y > file; cat file; rm evil; mkdir d; echo 1 > d/a; ls")
    assert (done.returncode, done.stdout, done.stderr) == (0, "y\nd\nfile\nprivate\n", "")
    assert opened.changes() == [f"{SAID}d/a, evil, file"]
    assert opened.changes() == []


def test_what_is_only_read_is_no_change(repository, opened):  # noqa: F811
    read(repository, opened, "git status; git diff; mkdir -p .git/refs; cat evil > /dev/null")
    assert opened.changes() == []


def test_a_folder_that_is_replaced_or_empty_is_named(repository, opened):  # noqa: F811
    (repository.workspace / "sub").mkdir()
    (repository.workspace / "sub/a").write_text("a")
    read(repository, opened, "rm -r sub; mkdir sub empty; echo b > sub/b")
    assert opened.changes() == [f"{SAID}empty/, sub/b"]


def test_caches_are_no_change(repository, opened):  # noqa: F811
    (repository.workspace / "greet.py").write_text("print('hello')\n")
    tag = "mkdir -p sub/.mypy_cache/3.11; touch sub/.mypy_cache/CACHEDIR.TAG sub/.mypy_cache/3.11/x"
    repository.start(opened.wrap(["/bin/sh", "-c", tag], (), Access.READ))
    done = repository.start(opened.wrap([SYSTEM_PYTHON, "-c", "import greet"], (), Access.READ))
    assert (done.stdout, done.stderr) == ("hello\n", "")
    assert opened.changes() == []


def test_of_many_files_some_are_named_and_the_others_counted(repository, opened):  # noqa: F811
    read(repository, opened, "for n in $(seq 100 149); do echo x > f$n; done")
    (line,) = opened.changes()
    assert line.count("f1") == MAX_NAMES
    assert line.endswith(f" f{100 + MAX_NAMES - 1} (45 more)")


def test_each_command_has_a_layer_of_its_own(repository, opened):  # noqa: F811
    argv = opened.wrap(["/bin/sh", "-c", "echo 1 > one; echo ready; read -r line"], (), Access.READ)
    with subprocess.Popen(
        argv, cwd=repository.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        first.stdout.readline()
        assert read(repository, opened, "ls; echo 2 > two").stdout == "evil\nfile\nprivate\n"
        assert opened.changes() == [f"{SAID}two"]  # the other one goes on
        first.communicate(b"\n")
    assert opened.changes() == [f"{SAID}one"]
    assert read(repository, opened, "ls").stdout == "evil\nfile\nprivate\n"


@pytest.mark.parametrize("box", [Bubblewrap, WithoutLayers])
def test_secrets_stay_hidden_and_protected_names_as_they_are(repository, box):  # noqa: F811
    (repository.workspace / ".vscode").mkdir()
    (repository.workspace / ".vscode/tasks.json").write_text("good")
    command = "cat .env private/*; echo x > .vscode/tasks.json; cat .vscode/tasks.json"
    done = read(repository, repository.open(), command)
    assert SECRET not in done.stdout + done.stderr
    assert done.stdout == "good"


@pytest.mark.parametrize("box", [Bubblewrap, WithoutLayers])
def test_git_reads(repository, box):  # noqa: F811
    (repository.workspace / "file").write_text("changed\n")
    before = snapshot(repository.workspace / ".git")
    opened = repository.open()
    done = read(repository, opened, "git status --short -uno; git diff --stat; git log --format=%s")
    assert done.stdout.startswith(" M file\n file | 2 +-\n")
    assert done.stdout.endswith("second\nfirst\n")
    assert read(repository, opened, "git stash list && git blame file").returncode == 0
    assert done.stderr == ""
    assert opened.changes() == []
    assert snapshot(repository.workspace / ".git") == before


@pytest.mark.parametrize("command", ["exit 7", "kill -9 $$", "kill -TERM $$", "no-such-program"])
def test_the_exit_code_is_that_of_a_command_that_may_write(repository, opened, command):  # noqa: F811
    expected = repository.start(opened.wrap(["/bin/bash", "-c", command], ())).returncode
    assert read(repository, opened, command).returncode == expected


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_is_killed_ends_with_all_it_started(repository, opened, number):  # noqa: F811
    command = "echo x > one; echo ready; setsid sleep 31.4161 & sleep 31.4161"
    argv = opened.wrap(["/bin/sh", "-c", command], (), Access.READ)
    with subprocess.Popen(
        argv, cwd=repository.workspace, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        process.stdout.readline()
        os.killpg(process.pid, number)
    until = time.monotonic() + 20
    while "31.4161" in commands() and time.monotonic() < until:
        time.sleep(0.05)
    assert "31.4161" not in commands()
    assert opened.changes() == [f"{SAID}one"]


def commands():
    """Return the command lines of all processes."""
    listed = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True)
    return listed.stdout


def test_what_is_thrown_away_takes_a_share_of_the_memory(repository, monkeypatch):  # noqa: F811
    monkeypatch.setattr(namespaces, "MEMORY_SHARE", os.sysconf("SC_PHYS_PAGES") // 1_000)
    opened = repository.open()
    done = read(repository, opened, "head -c 20000000 /dev/zero > big")
    assert "No space left on device" in done.stderr
    assert opened.changes() == [f"{SAID}big"]
    assert read(repository, opened, "head -c 2000000 /dev/zero > big").returncode == 0


def test_a_test_that_writes_does_not_fail_where_there_is_no_layer(repository):  # noqa: F811
    (repository.workspace / "module.py").write_text("import os, sys; print('imported')")
    opened = WithoutLayers(SessionInfo("s", repository.workspace), Settings())
    command = (
        f"{SYSTEM_PYTHON} -c 'import module'; echo $PYTEST_ADDOPTS; echo x > $TMPDIR/a && echo y"
    )
    done = read(repository, opened, command)
    opened.close()
    assert done.stdout == "imported\n-o cache_dir=/tmp/.pytest_cache\ny\n"
    assert done.stderr == ""


def test_a_path_with_marks_of_mount_options_is_read_only_too(repository, box):  # noqa: F811
    workspace = repository.root / "a,b:c d"
    workspace.mkdir()
    opened = box(SessionInfo("s", workspace), Settings())
    argv = opened.wrap(["/bin/sh", "-c", "echo x > new; pwd"], (), Access.READ)
    done = subprocess.run(argv, cwd=workspace, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{workspace}\n", "")
    assert opened.changes() == [f"{SAID}new"]
    opened.close()
    assert list(workspace.iterdir()) == []


def test_other_paths_that_may_be_changed_are_read_only_too(repository):  # noqa: F811
    opened = repository.open(Settings(writable=(str(repository.out),)))
    done = read(repository, opened, "echo x > $OUT/file")
    assert "Read-only file system" in done.stderr
    assert (repository.out / "file").read_text() == "before"


def test_a_socket_that_appears_later_is_not_reached(repository, opened):  # noqa: F811
    path = repository.workspace / "agent.sock"
    connect = f"import socket; socket.socket(1).connect({str(path)!r})"
    argv = opened.wrap([*PYTHON.split(), connect], (), Access.READ)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert "ConnectionRefusedError" in repository.start(argv).stderr
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()


OF_NOBODY = """
import os, site, subprocess, sys, tempfile
site.addsitedir(sys.argv[1])
from pathlib import Path
from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
box = Bubblewrap(SessionInfo("s", Path(os.getcwd())), Settings())
for access in (Access.READ, Access.WRITE):
    command = "id -u; id -un 2>/dev/null; echo x > new; ls; mkdir d; touch d/a; chmod 000 d"
    subprocess.run(box.wrap(["/bin/sh", "-c", command], (), access), check=False)
    print(box.changes(), flush=True)
box.close()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root runs a program as another user")
def test_a_user_without_rights_has_layers_too():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        os.chown(name, NOBODY, NOBODY)
        done = subprocess.run(
            [SYSTEM_PYTHON, "-c", OF_NOBODY, sysconfig.get_path("purelib")],
            cwd=name,
            env={"PATH": os.defpath, "HOME": name, "TMPDIR": name},
            user=NOBODY,
            group=NOBODY,
            capture_output=True,
            text=True,
            check=False,
        )
        if "ModuleNotFoundError" in done.stderr:
            pytest.skip("another user cannot import nanocoder here")
        assert done.stderr == ""
        assert f"['{SAID}d/, new']" in done.stdout
        assert done.stdout.splitlines().count(str(NOBODY)) == 2
        Path(name, "d").chmod(0o700)
        left = [
            path for path in Path(name).rglob("*") if "layers" in path.name or "tmp-" in path.name
        ]
        assert not left


def test_what_is_written_beside_a_workspace_below_tmp_is_said_once(below_tmp):  # noqa: F811
    place = Inside(below_tmp, Bubblewrap)
    opened = place.open()
    leave = "echo x > ../new; mkdir ../d; echo x > ../d/f; touch ../empty; echo x > /tmp/a-report"

    def run(command):
        return place.start(opened.wrap(["/bin/bash", "--norc", "-c", command], ()))

    assert (run(leave).returncode, run("cat ../new").stdout) == (0, "x\n")
    said = "written to the /tmp of this session, not to that of the machine"
    assert opened.changes() == [f"{said}: /tmp/a-report, {below_tmp}/d/f, {below_tmp}/new"]
    assert opened.changes() == []
    place.close()
    assert sorted(os.listdir(below_tmp)) == ["home", "out", "ws"]
