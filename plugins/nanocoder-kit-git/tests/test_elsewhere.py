"""Where git takes the data of a checkout from."""

import os

import pytest
from nanocoder_kit_git import data_elsewhere, find_repository, git


@pytest.fixture
def repository(tmp_path):
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "-q")
    names = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
    variables = {f"GIT_{name}": "a@example.org" for name in names}
    git(top, "commit", "-q", "--allow-empty", "-m", "x", variables=variables)
    return top


def _elsewhere(top):
    return data_elsewhere(find_repository(top), [os.path.realpath(top)])


def test_a_repository_keeps_its_data_in_its_folder(repository):
    assert _elsewhere(repository) == ""


def test_a_file_that_leads_out_is_no_worktree(repository, tmp_path):
    top = tmp_path / "ws"
    top.mkdir()
    (top / ".git").write_text(f"gitdir: {repository}/.git\n")
    assert _elsewhere(top) == str(repository / ".git")


def test_the_data_of_a_worktree_may_be_in_its_repository(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "ws"))
    assert _elsewhere(tmp_path / "ws") == ""
    (tmp_path / "ws").rename(tmp_path / "moved")
    assert _elsewhere(tmp_path / "moved") == str(repository / ".git/worktrees/ws")


@pytest.mark.parametrize("name", ["objects", "refs/heads", "logs/refs", "HEAD", "index"])
def test_a_link_out_of_the_data_is_found(name, repository, tmp_path):
    place = repository / ".git" / name
    place.parent.mkdir(exist_ok=True)
    if place.exists():
        place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    assert _elsewhere(repository) == str(place)
