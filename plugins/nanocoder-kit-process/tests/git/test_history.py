"""Which objects and paths the commits of a repository have."""

import pytest
from nanocoder import ToolError
from nanocoder_kit_process.git import git, objects_of_head, objects_of_history

NAMES = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
VARIABLES = {f"GIT_{name}": "a@example.org" for name in NAMES}


def _commit(top, name):
    (top / name).write_text(name)
    git(top, "add", "-f", name)
    git(top, "commit", "-q", "-m", name, variables=VARIABLES)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    _commit(tmp_path, "old")
    git(tmp_path, "rm", "-q", "old")
    _commit(tmp_path, "new")
    return tmp_path


def test_the_history_has_files_that_head_no_longer_has(repository):
    top = str(repository)
    assert set(objects_of_head(top, workspace=top).values()) == {"", "new"}
    assert set(objects_of_history(top, (), workspace=top).values()) == {"", "old", "new"}


def test_a_commit_that_only_a_log_names_counts(repository):
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    paths = objects_of_history(str(repository), ("missing",), workspace=str(repository))
    assert "new" in paths.values()


def test_a_commit_that_nothing_names_counts_if_it_is_asked_for(repository):
    commit = git(repository, "rev-parse", "HEAD").decode().strip()
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "update-ref", "-d", "ORIG_HEAD")
    top = str(repository)
    assert "new" not in objects_of_history(top, (), workspace=top).values()
    assert "new" in objects_of_history(top, (commit,), workspace=top).values()


def test_a_repository_without_commits_has_no_objects(tmp_path):
    git(tmp_path, "init", "-q")
    top = str(tmp_path)
    assert objects_of_head(top, workspace=top) == {}
    assert objects_of_history(top, (), workspace=top) == {}


def test_what_takes_too_long_is_an_error(repository, monkeypatch):
    monkeypatch.setattr("nanocoder_kit_process.git.history.LIMIT_S", 0.0)
    monkeypatch.setattr("nanocoder_kit_process.git.run.POLL_S", 0.0)
    with pytest.raises(ToolError, match="longer than 0 s"):
        objects_of_history(str(repository), (), workspace=str(repository))
