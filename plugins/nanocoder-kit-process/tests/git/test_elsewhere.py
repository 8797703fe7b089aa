"""Where git takes the data of a checkout from."""

import os

import pytest
from nanocoder_kit_process.git import data_elsewhere, find_repository, git, stores_of


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


@pytest.fixture
def worktree(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "ws"))
    return tmp_path / "ws"


@pytest.fixture
def submodule(repository):
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "mod")
    git(repository, *add, variables={"GIT_ALLOW_PROTOCOL": "file"})
    return repository / "mod"


def test_a_repository_works_in_its_own_folder(repository):
    assert stores_of(str(repository)) == (f"{repository}/.git",)
    (repository / "sub").mkdir()
    assert stores_of(str(repository / "sub")) == ()


def test_a_worktree_has_a_folder_in_its_repository(repository, worktree):
    assert stores_of(str(worktree)) == (f"{repository}/.git", f"{repository}/.git/worktrees/ws")


def test_a_submodule_has_its_data_in_the_repository_around_it(repository, submodule):
    assert stores_of(str(submodule)) == (f"{repository}/.git/modules/mod",)


@pytest.mark.parametrize("checkout", ["worktree", "submodule"])
def test_only_the_checkout_that_the_data_name_may_work_on_them(checkout, request, tmp_path):
    top = request.getfixturevalue(checkout)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    place = (top / ".git").read_text().partition(": ")[2].strip()
    (stranger / ".git").write_text(f"gitdir: {top / place}\n")
    assert find_repository(stranger).problem == ""
    assert stores_of(str(stranger)) == ()


@pytest.mark.parametrize("checkout", ["worktree", "submodule"])
def test_data_of_another_user_are_not_worked_on(checkout, request, monkeypatch):
    top = request.getfixturevalue(checkout)
    monkeypatch.setattr(os, "getuid", lambda: 4_242)
    assert stores_of(str(top)) == ()


def test_a_link_to_a_repository_is_none_to_work_on(repository, tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/.git").symlink_to(repository / ".git")
    assert stores_of(str(tmp_path / "ws")) == ()


def test_a_file_that_leads_to_an_ordinary_repository_is_none_to_work_on(
    repository, tmp_path, monkeypatch
):
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".git").write_text(f"gitdir: {repository}/.git\n")
    monkeypatch.chdir(clone)  # as a session is: no path has to be resolved from there
    assert stores_of(str(clone)) == ()


def test_data_in_the_checkout_itself_are_anybodys(tmp_path):
    """As an archive could hold them, with a relative path back."""
    top = tmp_path / "ws"
    (top / "data").mkdir(parents=True)
    git(top / "data", "init", "-q", "--bare")
    (top / "data/config").write_text("[core]\nworktree = ..\n")
    (top / ".git").write_text("gitdir: data\n")
    assert find_repository(top).problem == ""
    assert stores_of(str(top)) == ()


def test_a_checkout_in_the_data_themselves_is_none(repository):
    git(repository, "worktree", "add", "-q", "--detach", str(repository / ".git/ws"))
    assert stores_of(str(repository / ".git/ws")) == ()
