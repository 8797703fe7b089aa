"""What commands changed is undone with the rest of a run: real commands, real sessions."""

import os
import shutil
import subprocess
import sys
import time

import pytest
from command_line import COMMAND

pytestmark = pytest.mark.timeout(90)
DONE = {"text": "All done."}


def bash(command):
    return ("bash", {"command": command})


def write(path, content):
    return ("write_file", {"path": path, "content": content})


@pytest.fixture
def work(nanocoder):
    """Run calls in one session, a turn for each."""

    def run(*calls, **options):
        turns = [{"calls": [{"name": name, "arguments": args}]} for name, args in calls]
        script = nanocoder.script(*turns, DONE)
        done = nanocoder("run", "--mode", "auto", "--model", script, "go", **options)
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def store(nanocoder):
    """Run git on what is kept of the workspace."""

    def git(*words):
        (folder,) = (nanocoder.home / ".local/state/nanocoder/snapshots").glob("*/contents.git")
        command = ["git", "--git-dir", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return git


def undo(nanocoder, *words):
    return nanocoder("sessions", "undo", "--yes", *words)


def tree(nanocoder):
    return {
        str(path.relative_to(nanocoder.cwd)): path.read_bytes() if path.is_file() else None
        for path in sorted(nanocoder.cwd.rglob("*"))
        if ".git" not in path.relative_to(nanocoder.cwd).parts
    }


def links(nanocoder):
    """Return what is in each file, and where each link leads."""
    return {
        path.name: os.readlink(path) if path.is_symlink() else path.read_text()
        for path in nanocoder.cwd.iterdir()
        if path.is_symlink() or path.is_file()
    }


def configure(nanocoder, text):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


@pytest.mark.contract("G4")
def test_what_a_command_created_changed_and_deleted_is_restored_and_redone(nanocoder, work):
    cwd = nanocoder.cwd
    (cwd / "changed.txt").write_bytes(b"one\r\ntwo\n")
    (cwd / ".gitattributes").write_text("* text eol=lf\n")
    (cwd / "old").mkdir()
    (cwd / "old/private.txt").write_text("mine")
    (cwd / "old/private.txt").chmod(0o600)
    before = tree(nanocoder)
    work(
        bash("printf other > changed.txt; rm old/private.txt; rmdir old; mkdir -p new/a"),
        bash("echo made > 'new/a/with \"quotes\" and\ttab'"),
        write("changed.txt", "by a tool"),
    )
    after = tree(nanocoder)
    assert after["changed.txt"] == b"by a tool"
    done = undo(nanocoder)
    assert done.returncode == 0, done.stderr
    assert "put back old/private.txt" in done.stdout
    assert "side effects are not tracked" not in done.stdout
    assert tree(nanocoder) == before
    assert (cwd / "old/private.txt").stat().st_mode & 0o777 == 0o600
    assert undo(nanocoder, "--redo").returncode == 0
    assert tree(nanocoder) == after
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == before
    assert "nothing to undo" in undo(nanocoder).stderr


@pytest.mark.contract("G4")
def test_a_file_that_changed_since_is_named_and_left_and_the_rest_is_restored(nanocoder, work):
    for name in ("a.txt", "b.txt"):
        (nanocoder.cwd / name).write_text("old")
    work(bash("echo new > a.txt; echo new > b.txt; echo new > c.txt"))
    (nanocoder.cwd / "a.txt").write_text("by hand")
    done = undo(nanocoder)
    assert done.returncode == 0
    assert "left as it is: a.txt has been changed since; --force restores it" in done.stdout
    assert tree(nanocoder) == {"a.txt": b"by hand", "b.txt": b"old"}
    assert undo(nanocoder, "--force").returncode == 0
    assert tree(nanocoder) == {"a.txt": b"old", "b.txt": b"old"}


def test_compiled_python_files_are_left_alone_with_and_without_an_ignore_file(nanocoder, work):
    (nanocoder.cwd / "a.py").write_text("A = 1\n")
    compile_it = f"{sys.executable} -m compileall -q ."
    work(bash(f"echo 'A = 2' > a.py; touch old.pyc; {compile_it}"))
    (cache,) = (nanocoder.cwd / "__pycache__").iterdir()
    done = undo(nanocoder)
    assert done.returncode == 0, done.stderr
    assert "pyc" not in done.stdout + done.stderr
    assert (nanocoder.cwd / "a.py").read_text() == "A = 1\n"
    assert cache.exists()
    (nanocoder.cwd / ".gitignore").write_text("*.log\n")
    work(bash(f"echo 'A = 3' > a.py; rm -r __pycache__; {compile_it}"))
    assert "pyc" not in undo(nanocoder).stdout


def test_a_binary_file_that_goes_is_not_said_to_become_empty(nanocoder, work):
    work(bash(r"printf '\377\376' > new.bin"))
    done = undo(nanocoder)
    assert "remove new.bin" in done.stdout
    assert "binary file" not in done.stdout
    work(bash(r"printf '\377\376' > new.bin"), bash(r"printf '\377' > new.bin"))
    assert "binary file new.bin: 1 byte become 2" in undo(nanocoder, "--call", "call-2-1").stdout


def test_one_file_or_one_call_alone(nanocoder, work):
    work(bash("echo 1 > a.txt; echo 1 > b.txt"), bash("echo 2 > c.txt"))
    assert undo(nanocoder, "--file", "a.txt").returncode == 0
    assert sorted(tree(nanocoder)) == ["b.txt", "c.txt"]
    assert undo(nanocoder, "--call", "call-2-1").returncode == 0
    assert sorted(tree(nanocoder)) == ["b.txt"]
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {}


@pytest.mark.contract("G4")
@pytest.mark.usefixtures("no_sandbox")
def test_secrets_and_what_links_lead_to_are_never_copied(nanocoder, work, store, tmp_path):
    (tmp_path / "outside.txt").write_text("OUTSIDE")
    (nanocoder.cwd / "link.txt").symlink_to(tmp_path / "outside.txt")
    (nanocoder.cwd / "folder").symlink_to(tmp_path)
    (nanocoder.cwd / ".env").write_text("TOKEN=hidden")
    (nanocoder.cwd / "a.txt").write_text("a")
    work(bash("echo new > a.txt; echo new > link.txt"))
    objects = store("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    blobs = [line.split()[0] for line in objects if " blob " in line]
    assert sorted(store("cat-file", "blob", blob) for blob in blobs) == ["a", "new\n"]
    assert undo(nanocoder).returncode == 0
    assert (tmp_path / "outside.txt").read_text() == "new\n"
    assert (nanocoder.cwd / "a.txt").read_text() == "a"


@pytest.mark.contract("G4")
@pytest.mark.parametrize("is_by_command", [True, False])
def test_links_that_were_removed_made_or_led_elsewhere_are_restored(
    nanocoder, work, tmp_path, is_by_command
):
    cwd, outside = nanocoder.cwd, tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("outside")
    for name in ("a.txt", "b.txt"):
        (cwd / name).write_text(name)
    (cwd / "gone").symlink_to("a.txt")
    (cwd / "to folder").symlink_to(outside)
    (cwd / "dangling").symlink_to("nowhere")
    (cwd / "turned").symlink_to("a.txt")
    before = links(nanocoder)
    if is_by_command:
        work(
            bash("rm gone 'to folder' dangling; ln -sfn b.txt turned; ln -s b.txt new"),
            bash("ln -sf ../outside/a.txt a.txt; echo 1 > b.txt"),
        )
        assert (cwd / "a.txt").is_symlink()
    else:
        names = ("gone", "to folder", "dangling", "turned")
        work(*[("delete_file", {"path": name}) for name in names], write("turned", "a file now"))
    after = links(nanocoder)
    done = undo(nanocoder)
    assert done.returncode == 0, done.stderr
    assert "restore the link gone -> a.txt\n" in done.stdout
    assert links(nanocoder) == before
    assert (outside / "a.txt").read_text() == "outside"
    assert undo(nanocoder, "--redo").returncode == 0
    assert links(nanocoder) == after
    assert undo(nanocoder).returncode == 0
    assert links(nanocoder) == before
    assert (outside / "a.txt").read_text() == "outside"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_link_that_others_turned_since_is_named_and_the_rest_is_restored(nanocoder, work, force):
    (nanocoder.cwd / "link").symlink_to("one")
    work(bash("ln -sfn two link; echo 1 > b.txt"))
    (nanocoder.cwd / "link").unlink()
    (nanocoder.cwd / "link").symlink_to("three")
    done = undo(nanocoder, *force)
    assert done.returncode == 0, done.stderr
    assert ("left as it is: link is a link" in done.stdout) is not bool(force)
    assert links(nanocoder) == {"link": "one" if force else "three"}


@pytest.mark.parametrize("command", ["rm -r d; ln -s ../elsewhere d", "rm -r d; echo 1 > d"])
def test_what_took_the_place_of_a_folder_makes_room_for_it(nanocoder, work, tmp_path, command):
    (tmp_path / "elsewhere/in").mkdir(parents=True)
    (tmp_path / "elsewhere/a.txt").write_text("outside")
    (nanocoder.cwd / "d/in").mkdir(parents=True)
    (nanocoder.cwd / "d/a.txt").write_text("a")
    (nanocoder.cwd / "d/in/b.txt").write_text("b")
    before = tree(nanocoder)
    work(bash(command))
    done = undo(nanocoder)
    assert done.returncode == 0, done.stderr
    assert tree(nanocoder) == before
    assert not (nanocoder.cwd / "d").is_symlink()
    assert (tmp_path / "elsewhere/a.txt").read_text() == "outside"


@pytest.mark.parametrize("is_link", [True, False])
def test_a_folder_that_took_the_place_of_a_file_or_link_goes(nanocoder, work, is_link):
    if is_link:
        (nanocoder.cwd / "d").symlink_to("nowhere")
    else:
        (nanocoder.cwd / "d").write_text("file")
    before = links(nanocoder)
    work(bash("rm d; mkdir d; echo 1 > d/a.txt"))
    assert undo(nanocoder).returncode == 0
    assert links(nanocoder) == before
    work(bash("rm d; mkdir d; echo 1 > d/a.txt"), bash("echo 1 > other.txt"))
    (nanocoder.cwd / "d/by hand").write_text("mine")
    failed = undo(nanocoder)
    assert "done so far: d/a.txt, other.txt" in failed.stderr.replace(
        "other.txt, d/a.txt", "d/a.txt, other.txt"
    )
    assert (nanocoder.cwd / "d/by hand").read_text() == "mine"
    assert not (nanocoder.cwd / "other.txt").exists()


@pytest.mark.contract("G4")
@pytest.mark.parametrize("hours", [-30, 30])
def test_changes_are_undone_in_their_order_whatever_the_clock_said(
    nanocoder, work, tmp_path, hours
):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import time\nfrom pathlib import Path\nreally, mark = time.time, Path('mark')\n"
        f"time.time = lambda: really() + (3600 * {hours} if mark.exists() else 0)\n"
    )
    (nanocoder.cwd / "a.txt").write_text("0")
    before = tree(nanocoder)
    work(
        ("edit_file", {"path": "a.txt", "old_string": "0", "new_string": "1"}),
        bash("touch mark; echo 2 > a.txt"),
        ("edit_file", {"path": "a.txt", "old_string": "2", "new_string": "3"}),
        bash("echo 4 > a.txt; echo 4 > b.txt"),
        write("c.txt", "5"),
        env={"PYTHONPATH": str(tmp_path / "site")},
    )
    done = undo(nanocoder, "--all")
    assert done.returncode == 0, done.stderr
    assert tree(nanocoder) == before


@pytest.fixture
def killed(nanocoder):
    """Run calls in one session, and kill it while a command runs that has made the file `ready`."""

    def run(*calls):
        turns = [{"calls": [{"name": name, "arguments": args}]} for name, args in calls]
        script = nanocoder.script(*turns, DONE)
        words = [COMMAND, "run", "--mode", "auto", "--model", script, "go"]
        running = subprocess.Popen(
            words, cwd=nanocoder.cwd, env=nanocoder.environment, stdout=subprocess.DEVNULL
        )
        while not (nanocoder.cwd / "ready").exists():
            assert running.poll() is None
            time.sleep(0.05)
        running.kill()
        running.wait()

    return run


@pytest.mark.contract("G4")
@pytest.mark.parametrize("others", [[], ["other"], ["same"]])
def test_what_a_command_did_until_nanocoder_was_killed_is_undone(nanocoder, work, killed, others):
    """Another session, or the same one, may have run commands in the folder since."""
    for name in ("a.txt", "b.txt"):
        (nanocoder.cwd / name).write_text("old")
    (nanocoder.cwd / "link").symlink_to("a.txt")
    (nanocoder.cwd / ".env").write_text("TOKEN=hidden")
    (nanocoder.cwd / ".gitignore").write_text("*.log")
    (nanocoder.cwd / "x.log").write_text("log")
    before = links(nanocoder)
    killed(
        bash("echo 1 > a.txt"),
        bash("echo 2 > b.txt; rm link; echo 3 > new.txt; echo 4 >> x.log; touch ready; sleep 60"),
    )
    (session,) = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")
    if others:
        more = ("--continue",) if others == ["same"] else ()
        words = nanocoder.script(
            *[DONE] * 2 * bool(more),
            {"calls": [{"name": "bash", "arguments": {"command": "echo 5 > later.txt"}}]},
            DONE,
        )
        again = nanocoder("run", "--mode", "auto", "--model", words, *more, "go")
        assert again.returncode == 0, again.stderr
    done = undo(nanocoder, session.stem, "--all")
    assert done.returncode == 0, done.stderr
    left = {".env": "TOKEN=hidden", "x.log": "log4\n"}
    left |= {"later.txt": "5\n"} if others == ["other"] else {}
    assert links(nanocoder) == {**before, **left}
    assert "nothing to undo" in undo(nanocoder, session.stem, "--all").stderr


def test_nothing_is_taken_for_a_commands_that_changed_after_it_ended(nanocoder, work):
    work(bash("echo 1 > a.txt"))
    (nanocoder.cwd / "by hand.txt").write_text("mine")
    assert undo(nanocoder).returncode == 0
    assert links(nanocoder) == {"by hand.txt": "mine"}


def test_a_slow_look_goes_on_where_the_last_one_ended(nanocoder, work, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import nanocoder_kit_sessions.snapshots.index as index\nindex.READ_LIMIT_S = -1.0\n"
    )
    for name in ("a.txt", "b.txt"):
        (nanocoder.cwd / name).write_text("old")
    slow = {"PYTHONPATH": str(tmp_path / "site")}
    done = work(bash("echo 1 > a.txt; echo 1 > new.txt"), env=slow)
    assert "undo will not" not in done.stderr
    plan = undo(nanocoder)
    assert "left as it is: a.txt: its content before was" in plan.stdout
    assert "not read yet" in plan.stdout
    assert links(nanocoder) == {"a.txt": "1\n", "b.txt": "old"}
    work(bash("true"))
    work(bash("echo 2 > b.txt"), env=slow)
    assert undo(nanocoder).returncode == 0
    assert links(nanocoder) == {"a.txt": "1\n", "b.txt": "old"}


def test_files_that_only_come_into_sight_are_not_taken_for_new(nanocoder, work):
    (nanocoder.cwd / ".gitignore").write_text("*.log\ndata/\n")
    (nanocoder.cwd / "data").mkdir()
    (nanocoder.cwd / "data/big.bin").write_text("data")
    (nanocoder.cwd / "x.log").write_text("log")
    work(bash("sleep 0.1; rm .gitignore; echo more >> x.log"))
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {
        ".gitignore": b"*.log\ndata/\n",
        "data": None,
        "data/big.bin": b"data",
        "x.log": b"log",
    }


def test_what_git_ignores_comes_back_when_a_command_removes_it(nanocoder, work):
    cwd = nanocoder.cwd
    subprocess.run(["git", "init", "-q", "."], cwd=cwd, check=True)
    (cwd / ".gitignore").write_text("*.local\nnotes/\nnode_modules/\ncache/\n")
    for name in ("settings.local", "notes/a/b.md", "cache/CACHEDIR.TAG", "cache/x"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text(name)
    (cwd / "node_modules").mkdir()
    for number in range(300):
        (cwd / f"node_modules/{number}.js").touch()
    work(bash("echo more >> settings.local; echo new > new.local"), bash("git clean -qfdx; ls"))
    assert tree(nanocoder) == {}
    assert undo(nanocoder).returncode == 0
    assert sorted(tree(nanocoder)) == [
        ".gitignore", "new.local", "notes", "notes/a", "notes/a/b.md", "settings.local"
    ]  # fmt: skip
    assert (cwd / "settings.local").read_text() == "settings.localmore\n"


def test_a_large_file_is_named_and_the_rest_is_restored(nanocoder, work):
    (nanocoder.cwd / "large.txt").write_text("x" * 3_000_000)
    work(bash("echo small > large.txt; echo 1 > a.txt"))
    done = undo(nanocoder)
    assert "left as it is: large.txt: its content before was too large" in done.stdout
    assert tree(nanocoder) == {"large.txt": b"small\n"}


@pytest.mark.contract("G4")
def test_nothing_of_a_hostile_repository_runs_or_is_touched(nanocoder, work, tmp_path):
    cwd, touched = nanocoder.cwd, tmp_path / "touched"
    subprocess.run(["git", "init", "-q", "."], cwd=cwd, check=True)
    program = tmp_path / "hostile.sh"
    program.write_text(f"#!/bin/sh\ntouch {touched}\n")
    program.chmod(0o755)
    with (cwd / ".git/config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {program}\n\thooksPath = {tmp_path}\n"
            f'[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n'
        )
    (cwd / ".gitattributes").write_text("* filter=x ident\n")
    (cwd / "a.txt").write_text("$Id$ old")
    (cwd / "sub").mkdir()
    (cwd / "sub/.git").write_text(f"gitdir: {cwd}/.git\n")
    (nanocoder.home / ".gitconfig").write_text(f"[core]\n\tfsmonitor = {program}\n")
    own = {path: path.read_bytes() for path in (cwd / ".git").rglob("*") if path.is_file()}
    work(bash("echo new > a.txt; echo new > sub/b.txt"))
    assert undo(nanocoder).returncode == 0
    assert (cwd / "a.txt").read_text() == "$Id$ old"
    assert not (cwd / "sub/b.txt").exists()
    assert own == {path: path.read_bytes() for path in (cwd / ".git").rglob("*") if path.is_file()}
    assert not touched.exists()


@pytest.fixture
def path_without_git(tmp_path):
    """Return a PATH with everything but git."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for name in os.listdir(place):
            if not name.startswith("git") and not os.path.lexists(folder / name):
                (folder / name).symlink_to(f"{place}/{name}")
    return str(folder)


@pytest.mark.contract("G4")
def test_without_git_it_is_said_once_that_side_effects_are_not_tracked(
    nanocoder, work, path_without_git
):
    done = work(bash("echo 1 > a.txt"), bash("echo 2 > b.txt"), env={"PATH": path_without_git})
    assert done.stderr.count("git is not installed") == 1
    refused = undo(nanocoder)
    assert "side effects are not tracked: bash (git is not installed" in refused.stderr
    assert sorted(tree(nanocoder)) == ["a.txt", "b.txt"]


@pytest.mark.contract("G4")
def test_a_huge_folder_is_not_tracked(nanocoder, work):
    configure(nanocoder, "[plugins.undo-snapshots]\nmax_files = 3\n")
    for number in range(4):
        (nanocoder.cwd / f"{number}.txt").write_text("x")
    done = work(bash("echo 1 > 1.txt"), write("a.txt", "1"))
    assert done.stderr.count("more than 3 files (max_files)") == 1
    assert "plugins.undo-snapshots.max_files" in done.stderr
    done = undo(nanocoder)
    assert "not undone: side effects are not tracked: bash (the folder has more" in done.stdout
    assert "a.txt" not in tree(nanocoder)


@pytest.mark.contract("G4")
def test_snapshots_go_with_their_session(nanocoder, work, store):
    folder = nanocoder.home / ".local/state/nanocoder"
    (nanocoder.cwd / "a.txt").write_text("first content")
    work(bash("echo 1 > a.txt"))
    work(bash("echo 2 > a.txt"))
    journals = sorted(
        (folder / "sessions").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns
    )
    first, second = (path.stem for path in journals)
    assert store("for-each-ref", "--format=%(refname)").split() == [
        f"refs/sessions/{name}" for name in sorted([first, second])
    ]
    assert nanocoder("sessions", "remove", first).returncode == 0
    assert store("for-each-ref", "--format=%(refname)").split() == [f"refs/sessions/{second}"]
    assert undo(nanocoder).returncode == 0
    assert (nanocoder.cwd / "a.txt").read_text() == "1\n"
    assert nanocoder("sessions", "remove", second).returncode == 0
    assert not list(folder.glob("snapshots/*/contents.git"))
    assert not [path for path in folder.rglob("*") if path.stat().st_mode & 0o077]


def test_a_copy_that_is_gone_is_named_and_the_rest_is_restored(nanocoder, work):
    (nanocoder.cwd / "a.txt").write_text("a")
    work(bash("echo 1 > a.txt; echo 1 > b.txt"))
    shutil.rmtree(nanocoder.home / ".local/state/nanocoder/snapshots")
    done = undo(nanocoder)
    assert "left as it is: a.txt cannot be restored: the snapshot is no longer kept" in done.stdout
    assert tree(nanocoder) == {"a.txt": b"1\n"}


@pytest.mark.contract("G4")
def test_what_a_sub_agent_ran_is_undone_with_its_parents_run(nanocoder, work):
    task = {"description": "d", "prompt": "p", "agent": "general"}
    inner = [{"calls": [{"name": "bash", "arguments": {"command": "echo 1 > by-agent.txt"}}]}, DONE]
    script = nanocoder.script({"calls": [{"name": "task", "arguments": task}]}, *inner, DONE)
    done = nanocoder("run", "--mode", "auto", "--model", script, "go")
    assert done.returncode == 0, done.stderr
    assert sorted(tree(nanocoder)) == ["by-agent.txt"], done.stdout
    assert undo(nanocoder).returncode == 0
    assert tree(nanocoder) == {}


def test_a_command_that_changes_few_files_costs_no_process(nanocoder, work, tmp_path):
    log, git = tmp_path / "git.log", shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {git} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    (nanocoder.cwd / "a.txt").write_text("a")
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    work(bash("true"), env=environment)
    assert [line.split()[-2] for line in log.read_text().splitlines()] == ["--template="]
    log.unlink()
    work(*(bash(f"true {number}") for number in range(5)), env=environment)
    work(bash("echo 1 > a.txt; echo 1 > b.txt"), bash("rm b.txt"), env=environment)
    assert not log.exists()


def test_a_rewind_of_the_files_restores_what_commands_changed(nanocoder, work):
    work(bash("echo 1 > a.txt"))
    assert nanocoder("sessions", "rewind", "--to", "1", "--files", "--yes").returncode == 0
    assert tree(nanocoder) == {}


def test_nothing_is_left_of_an_ephemeral_session(nanocoder, tmp_path):
    (tmp_path / "tmp").mkdir()
    (nanocoder.cwd / "a.txt").write_text("a")
    call = {"calls": [{"name": "bash", "arguments": {"command": "ls"}}]}
    script = nanocoder.script(call, call, DONE)
    words = ("run", "--ephemeral", "--mode", "auto", "--model", script, "go")
    done = nanocoder(*words, env={"TMPDIR": str(tmp_path / "tmp")})
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "tmp").iterdir())
    assert not list(nanocoder.home.rglob("contents.git"))
    assert done.stderr.count("undo will not restore what commands change") == 1


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_nothing_is_put_back_through_a_link_that_took_the_place_of_a_folder(nanocoder, work, more):
    """A branch may replace a folder by a link to git's hooks, which would then hold a program."""

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *words], cwd=nanocoder.cwd, check=True, capture_output=True)

    program = nanocoder.cwd / "d/pre-commit"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    git("init", "-q")
    git("add", "d")
    git("commit", "-qm", "1")
    git("checkout", "-qb", "other")
    git("rm", "-rq", "d")
    program.parent.symlink_to(".git/hooks")
    git("add", "d")
    git("commit", "-qm", "2")
    git("checkout", "-q", "main")
    hooks = nanocoder.cwd / ".git/hooks"
    shutil.rmtree(hooks)
    hooks.mkdir()
    work(bash("git checkout -q other; echo 1 > other.txt"))
    done = undo(nanocoder, *more)
    assert "d/pre-commit" in done.stdout + done.stderr
    assert not list(hooks.iterdir())
    assert not (nanocoder.cwd / "other.txt").exists()


def test_a_folder_that_is_a_link_now_keeps_what_a_tool_wrote_below_it(nanocoder, work):
    (nanocoder.cwd / "elsewhere").mkdir()
    work(write("d/a.txt", "1"))
    shutil.move(nanocoder.cwd / "d/a.txt", nanocoder.cwd / "elsewhere/a.txt")
    (nanocoder.cwd / "d").rmdir()
    (nanocoder.cwd / "d").symlink_to("elsewhere")
    assert undo(nanocoder).returncode == 1
    assert (nanocoder.cwd / "elsewhere/a.txt").read_text() == "1"


@pytest.mark.contract("G4")
def test_the_plan_says_that_changes_of_others_may_be_among_those_of_a_command(nanocoder, work):
    others = "this folder; what others changed at the same time is undone, too\n"
    work(bash("echo one > by_command.txt"))
    done = undo(nanocoder)
    assert others in done.stdout + done.stderr
    work(bash("echo one > both.txt"), write("both.txt", "two"))
    done = undo(nanocoder)
    assert "outside this folder\n" in done.stdout + done.stderr
    assert others not in done.stdout + done.stderr


@pytest.mark.contract("G4")
def test_permissions_go_back_with_the_content(nanocoder, work):
    script = nanocoder.cwd / "run.sh"
    script.write_text("old\n")
    script.chmod(0o755)
    work(bash("chmod 644 run.sh; echo new >> run.sh"))
    assert undo(nanocoder).returncode == 0
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("old\n", 0o755)
    assert undo(nanocoder, "--redo").returncode == 0
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("old\nnew\n", 0o644)


@pytest.mark.contract("G4")
def test_an_undo_speaks_of_commands_only_if_they_ran_in_what_is_undone(nanocoder, work):
    work(write("notes.txt", "one\n"))
    look = {"calls": [{"name": "bash", "arguments": {"command": "ls"}}]}
    model = nanocoder.script(DONE, DONE, look, DONE)
    done = nanocoder("run", "--continue", "--mode", "auto", "--model", model, "look")
    assert done.returncode == 0, done.stderr
    plan = undo(nanocoder).stdout
    assert "removed notes.txt" in plan
    assert "of bash" not in plan
