"""Undo puts back the branches, tags and stashes that a command took away, in whatever words."""

import subprocess

import pytest
from nanocoder import Workspace
from nanocoder_undo_snapshots.repository import Repository

pytestmark = pytest.mark.timeout(60)
TAKING_AWAY = [
    "git branch -D topic",
    "git branch --del topic --force",
    "git branch -M topic main2",
    "git branch -f topic HEAD~1",
    "git update-ref -d refs/heads/topic",
    "printf 'delete refs/heads/topic\\n' | git update-ref --stdin",
    "git update-ref refs/heads/new HEAD; rm -rf .git/logs/refs .git/packed-refs",
    "rm .git/packed-refs",
    "git tag -d v1",
    "git tag -f v1 topic",
    "git stash drop",
    "git stash clear",
    "git stash pop -q",
    "rm .git/refs/stash",
    "git reflog delete stash@{0}",
    "git reflog expire --expire=now --all",
    "git reset -q --hard HEAD~1",
    "git commit -q --amend -m other",
    "git commit -qm s; git rebase -q --onto v1 HEAD~1",
    "git checkout -q topic && git branch -D main",
    "git pack-refs --all && git branch -D topic",
]
ADDING = [
    "git status",
    "git add new.txt && git commit -qm 3",
    "git branch another",
    "git tag v2",
    "echo more > a.txt; git stash -q",
    "git pack-refs --all",
    "git merge -q --ff-only ahead",
    "git gc -q",
]


@pytest.fixture
def git(tmp_path):
    """Return a function that runs a script in a repository and returns what it prints."""

    def run(script):
        done = subprocess.run(
            ["bash", "-ec", script], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout

    run("""
        git init -q -b main
        git config user.name a; git config user.email a@b; git config commit.gpgsign false
        echo 1 > a.txt; git add a.txt; git commit -qm 1; git tag v1; git branch packed
        echo 2 > a.txt; git commit -qam 2; git branch topic; git branch -f ahead
        echo 3 > new.txt
        git checkout -q ahead; git commit -q --allow-empty -m ahead; git checkout -q main
        git checkout -q topic; echo t > a.txt; git commit -qam topic; git checkout -q main
        git pack-refs --all; git branch loose topic
        echo stash1 > a.txt; git stash -q; echo stash2 > a.txt; git stash -q
        echo staged > staged.txt; git add staged.txt
    """)
    return run


@pytest.fixture
def repository(tmp_path):
    """Return the repository as a session knows it."""
    with Workspace(tmp_path) as workspace:
        repository = Repository(workspace, 2_000_000)
        assert not [*repository.look()]
        yield repository


def state(git):
    """Return what leads where: names, stashes, history of the names, and what is staged."""
    log = "git reflog --all --format='%H %gs'"
    return git(f"git for-each-ref; cat .git/HEAD; git stash list; {log}; git diff --cached")


@pytest.mark.rows(7)
@pytest.mark.parametrize("command", TAKING_AWAY)
def test_what_a_command_took_away_can_be_put_back(command, git, repository, tmp_path):
    before = state(git)
    git(command)
    lost = [*repository.look()]
    for change, data in lost:
        path = tmp_path / change.change.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert {*before.splitlines()} <= {*state(git).splitlines()}
    assert lost


@pytest.mark.parametrize("command", ADDING)
def test_what_only_adds_is_left_as_it_is(command, git, repository):
    git(command)
    assert [change.change.path for change, _ in repository.look()] == []


def test_a_workspace_without_a_repository_of_its_own_has_nothing_to_put_back(tmp_path):
    with Workspace(tmp_path) as workspace:
        repository = Repository(workspace, 2_000_000)
        assert not [*repository.look()]
        (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
        assert not [*repository.look()]


def test_undo_puts_back_what_it_names_in_one_line_and_redo_takes_it_again(nanocoder, git, tmp_path):
    cwd = nanocoder.cwd
    git(f"git reset -q --hard; cp -r .git a.txt {cwd}/")
    command = "git branch -D topic && git stash clear && git commit --amend -qm other && rm a.txt"
    turn = {"calls": [{"name": "bash", "arguments": {"command": command}}]}
    script = nanocoder.script(turn, {"text": "Done."})

    def here(words):
        return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout

    def names():
        return here(["git", "for-each-ref"]) + here(["git", "status", "--short"])

    before = names()
    done = nanocoder("run", "--mode", "auto", "--model", script, "go")
    assert done.returncode == 0, done.stderr
    after = names()
    assert "refs/heads/topic" not in after
    assert "refs/stash" not in after
    undone = nanocoder("sessions", "undo", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert "put back in .git: " in undone.stdout
    assert "refs/heads/topic" in undone.stdout
    assert names() == before
    assert nanocoder("sessions", "undo", "--redo", "--yes").returncode == 0
    assert names() == after
    shown = nanocoder("sessions", "show", "last").stdout
    assert "read these files again before you continue: a.txt, branches, tags" in shown
