"""Git in bubblewrap, and what a program inside can leave for a git outside."""

import os
import re
import shutil
import subprocess
import time

import pytest
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.repository import HELD
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_git import *  # noqa: F403
from sandbox_index import *  # noqa: F403
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


def test_a_lock_that_stays_outside_is_named_and_keeps_all_of_a_commit(repository):  # noqa: F811
    (repository.workspace / "a").touch()
    lock = repository.workspace / ".git/index.lock"
    lock.touch()
    box, before = repository.open(), repository.git("log", "--format=%s")

    def commit():
        done = repository.start(
            box.wrap(["/bin/sh", "-c", "git add a; git commit -qm a"], ()), PERSON
        )
        assert done.returncode == 0, done.stderr
        return box.changes()

    (change,) = commit()
    assert change.startswith(".git/index is locked by .git/index.lock: ")
    assert repository.git("log", "--format=%s") == before
    assert repository.git("ls-files", "a") == ""
    lock.unlink()
    assert commit() == []
    assert repository.git("log", "-1", "--format=%s") == "a\n"


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


def test_a_commit_beside_that_of_another_session_can_be_done_again(repository):  # noqa: F811
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
    (change,) = first.changes()
    commit_id = re.search(r"made in the sandbox: ([0-9a-f]{40}) \(refs/heads/", change)[1]
    again = first.wrap(["/bin/sh", "-c", f"git add a; git commit -qC {commit_id}"], ())
    assert repository.start(again, PERSON).returncode == 0
    assert first.changes() == []
    assert repository.git("status", "--short", "-uno") == ""
    assert {"a", "b"} <= set(repository.git("ls-tree", "--name-only", "HEAD").split())
    assert repository.git("log", "--format=%s", "-2") == "a\nb\n"
