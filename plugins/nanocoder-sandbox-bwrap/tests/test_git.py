"""Git in bubblewrap, and what a program inside can leave for a git outside."""

import os
import shutil
import subprocess
import time

import pytest
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.leases import LOCK, is_held
from nanocoder_kit_sandbox.repository import HELD, LACKING
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_git import *  # noqa: F403
from sandbox_index import *  # noqa: F403
from sandbox_killed import kill_a_session, only_place
from sandbox_objects import *  # noqa: F403
from sandbox_secrets_in_git import *  # noqa: F403
from sandboxed_place import SECRET, inside, repository  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


REBASE = """git checkout -qb work; echo a > file; git commit -qam a; git checkout -qb base HEAD~1
echo b > file; git commit -qam b; git checkout -q work"""
PERSON = {
    f"GIT_{who}_{what}": "a@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def test_a_rebase_that_stops_leaves_the_head_outside_until_it_has_ended(repository):  # noqa: F811
    opened = repository.open()

    def run(command):
        argv = opened.wrap(["/bin/bash", "--norc", "-c", command], ())
        return repository.start(argv, PERSON), opened.changes()

    assert run(REBASE)[1] == []
    stopped, said = run("git rebase base")
    assert (stopped.returncode, said) == (1, [HELD])
    assert repository.git("branch", "--show-current") == "work\n"
    assert run("git status --short")[1] == []
    run("echo c > file; git add file; GIT_EDITOR=true git rebase --continue")
    assert repository.git("log", "--format=%s", "-2") == "a\nb\n"
    assert repository.git("status", "--short", "-uno") == ""


def test_a_rebase_that_a_person_ends_meanwhile_has_ended_inside_too(repository):  # noqa: F811
    folder = repository.workspace / ".git/rebase-merge"
    folder.mkdir()
    (folder / "head-name").write_text("refs/heads/x\n")
    opened = repository.open()

    def run(command):
        done = repository.start(opened.wrap(["/bin/sh", "-c", command], ()), PERSON)
        return done.stdout, opened.changes()

    assert "rebase" in run("git status")[0]
    shutil.rmtree(folder)
    said, changes = run("git commit -q --allow-empty -m x; git status")
    assert ("rebase" in said, changes) == (False, [])
    assert repository.git("log", "-1", "--format=%s") == "x\n"


def test_a_rebase_that_its_session_leaves_can_be_begun_anew(repository):  # noqa: F811
    opened = repository.open()
    for command in (REBASE, "git rebase base"):
        argv = opened.wrap(["/bin/bash", "--norc", "-c", command], ())
        repository.start(argv, PERSON)
        opened.changes()
    repository.close()
    assert repository.git("branch", "--show-current") == "work\n"
    repository.git("checkout", "-qf", "work")
    assert (repository.workspace / "file").read_text() == "a\n"


WORK_OF_KILLED = """git checkout -qb work; echo a > file; git commit -qam a
git merge -q --no-ff --no-commit side; echo b > new; git add new; mkdir armed; sleep 60"""


def await_end(repository):  # noqa: F811
    """Wait until nothing of a killed session runs any more."""
    lock = only_place(repository) / LOCK
    while is_held(lock):
        time.sleep(0.01)


@pytest.fixture
def killed(repository, box, monkeypatch):  # noqa: F811
    """Provide a repository after a session in it was killed, at once after git wrote."""
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    repository.git("checkout", "-qb", "side")
    repository.git("commit", "-qm", "aside", "--allow-empty")
    repository.git("checkout", "-q", "-")
    kill_a_session(repository, box, repository.workspace, WORK_OF_KILLED)
    await_end(repository)
    assert repository.git("--no-optional-locks", "status", "--short", "-uno") != "A  new\n"
    return repository


def test_the_next_session_takes_over_what_git_did_in_one_that_was_killed(killed):
    assert killed.open().changes() == []
    assert killed.git("branch", "--show-current") == "work\n"
    assert killed.git("status", "--short", "-uno") == "A  new\n"
    killed.git("commit", "-qm", "both")
    assert killed.git("log", "-1", "--format=%P").count(" ") == 1  # it was a merge


def test_the_next_session_takes_over_nothing_after_a_person_changed_something(killed):
    killed.git("symbolic-ref", "HEAD", "refs/heads/side")
    killed.git("reset", "-q")
    assert killed.open().changes() == []
    assert killed.git("branch", "--show-current") == "side\n"
    assert killed.git("status", "--short", "-uno") == " M file\n"


def test_the_next_session_takes_over_no_files_that_git_does_not_make(repository, box):  # noqa: F811
    command = "printf x > .git/HEAD; printf x > .git/index; mkdir armed; sleep 60"
    kill_a_session(repository, box, repository.workspace, command)
    await_end(repository)
    before = repository.git("--no-optional-locks", "status")
    assert len(repository.open().changes()) == len(("HEAD", "index"))
    assert repository.git("status") == before


def test_a_lock_that_stays_outside_keeps_git_inside_from_half_a_commit(repository):  # noqa: F811
    (repository.workspace / "a").touch()
    repository.git("add", "-N", "a")
    lock = repository.workspace / ".git/index.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    box, before = repository.open(), repository.git("log", "--format=%s")

    def commit():
        names = "-c user.name=a -c user.email=a@example.org"
        done = repository.start(box.wrap(["/bin/sh", "-c", f"git {names} commit -m a a"], ()))
        return done.stderr, box.changes()

    error, changes = commit()
    assert "index.lock': File exists" in error
    assert changes == []
    assert repository.git("log", "--format=%s") == before
    lock.unlink()
    assert commit() == ("", [])
    assert repository.git("status", "--short", "-uno") == ""


def test_a_lock_that_is_removed_inside_alone_is_named(repository):  # noqa: F811
    lock = repository.workspace / ".git/index.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    (repository.workspace / "a").touch()
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", "rm .git/index.lock; git add a"], ()))
    (change,) = box.changes()
    assert change.startswith(".git/index is locked by .git/index.lock, and stays as it is there")
    assert lock.exists()


def test_a_link_in_the_repository_shows_nothing_of_elsewhere(inside):  # noqa: F811
    inside.git("init", "-q")
    (inside.out / "key").write_text(SECRET)
    git = inside.workspace / ".git"
    (git / "keys").symlink_to(inside.out)
    (git / "bar").symlink_to(inside.out / "key")
    (git / "foo").symlink_to("/proc/self/environ")
    (git / "zero").symlink_to("/dev/zero")
    os.mkfifo(git / "fifo")
    done = inside.run("cat .git/keys/key .git/bar .git/foo", Settings(hidden=(str(inside.out),)))
    assert (done.stdout, done.stderr.count("No such file")) == ("", 3)
    assert inside.run("git status --short").returncode == 0


def test_a_commit_beside_that_of_another_session_can_be_completed(repository):  # noqa: F811
    first, second = repository.open(), repository.open()
    commit = "echo {0} > {0}; git add {0}; git commit -qm {0}"
    command = f"touch ready; read -r end; {commit.format('a')}"
    argv = first.wrap(["/bin/sh", "-c", command], ())
    environ = {**os.environ, **PERSON}
    with subprocess.Popen(
        argv, cwd=repository.workspace, env=environ, stdin=subprocess.PIPE
    ) as running:
        while not (repository.workspace / "ready").exists():
            time.sleep(0.01)
        repository.start(second.wrap(["/bin/sh", "-c", commit.format("b")], ()), PERSON)
        assert second.changes() == []
        running.communicate(b"\n")
    assert any(line.endswith(LACKING) for line in first.changes())
    again = first.wrap(["/bin/sh", "-c", "git add a; git commit -qm both"], ())
    assert repository.start(again, PERSON).returncode == 0
    assert first.changes() == []
    assert repository.git("status", "--short", "-uno") == ""
    assert {"a", "b"} <= set(repository.git("ls-tree", "--name-only", "HEAD").split())
