"""Git commands run unasked only on data in the workspace, or on that of a worktree's repository."""

import os
import shutil
import subprocess

import pytest

READING = ("git log -p", "git show HEAD:private.txt", "git diff", "git reflog", "git status")
MODES = ("ask", "edits")


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def other(tmp_path_factory):
    """Return a repository outside of the workspace."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "private.txt").write_text("private stuff\n")
    git(folder, "init", "-q", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "x")
    return folder


def _absolute(top, other):
    (top / ".git").write_text(f"gitdir: {other}/.git\n")


def _relative(top, other):
    (top / ".git").write_text(f"gitdir: {os.path.relpath(other, top)}/.git\n")


def _link(top, other):
    (top / ".git").symlink_to(other / ".git")


def _shared(top, other):
    """Write data in the workspace that claims to be a worktree's."""
    own = top / "data/worktrees/x"
    own.mkdir(parents=True)
    (own / "commondir").write_text(f"{other}/.git\n")
    (own / "gitdir").write_text(f"{top}/.git\n")
    shutil.copy(other / ".git/HEAD", own)
    (top / ".git").write_text(f"gitdir: {own}\n")


def _other_worktree(top, other):
    git(other, "worktree", "add", "-q", "--detach", other / "tree")
    shutil.copy(other / "tree/.git", top / ".git")


def _linked(name):
    def make(top, other):
        shutil.copytree(other / ".git", top / ".git")
        target = top / ".git" / name
        target.mkdir(exist_ok=True)
        shutil.rmtree(target)
        target.symlink_to(other / ".git" / name)

    make.__name__ = f"_linked_{name.replace('/', '_')}"
    return make


@pytest.mark.contract("C5")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "make",
    [
        *(_absolute, _relative, _link, _shared, _other_worktree),
        *map(_linked, ("objects", "objects/pack", "refs", "refs/heads", "logs")),
    ],
)
def test_git_asks_before_it_uses_the_data_of_a_repository_outside(
    make, mode, tmp_path, other, judge
):
    make(tmp_path, other)
    for command in READING:
        verdict = judge("bash", {"command": command}, mode=mode)
        assert str(verdict.decision) == "ask", command
        assert "outside" in verdict.reason
    allowed = judge("bash", {"command": "git log -p"}, mode=mode, allow=["bash(git log *)"])
    assert str(allowed.decision) == "ask"


@pytest.mark.parametrize("more", [(), ("--detach",)])
def test_git_works_unasked_in_a_worktree_of_a_repository_elsewhere(tmp_path, other, judge, more):
    tree = tmp_path / "tree"
    git(other, "worktree", "add", "-q", *more, tree)
    for command in ("git status", "git -C tree log -p", "cd tree && git diff HEAD"):
        assert str(judge("bash", {"command": command}).decision) == "allow", command


def test_a_rule_for_the_data_of_a_worktree_holds(tmp_path, other, judge):
    git(other, "worktree", "add", "-q", tmp_path / "tree")
    for deny in (f"read_file({other}/**)", f"read_file({other}/.git/**)"):
        verdict = judge("bash", {"command": "cd tree && git log -p"}, deny=[deny])
        assert str(verdict.decision) != "allow", deny


def test_a_rule_for_data_in_the_workspace_holds(tmp_path, judge):
    (tmp_path / "private").mkdir()
    (tmp_path / "lib").mkdir()
    git(tmp_path / "lib", "init", "-q", "--separate-git-dir", tmp_path / "private/data")
    command = {"command": "cd lib && git status"}
    assert str(judge("bash", command).decision) == "allow"
    assert str(judge("bash", command, deny=["read_file(private/**)"]).decision) != "allow"
