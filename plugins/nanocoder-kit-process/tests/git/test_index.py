"""Git that runs unasked leaves the index as it is: a person's own git may be at work beside it."""

import os
import subprocess

import pytest
from nanocoder_kit_process.git import git

READING = (
    ("status", "--porcelain"),
    ("diff-files", "--name-only"),
    ("ls-files", "--modified"),
    ("grep", "text"),
)


@pytest.fixture
def repository(tmp_path):
    """Make a repository whose index is out of date: a file was touched, not changed."""
    for words in (
        ("init", "--quiet"),
        ("config", "user.email", "a@example.org"),
        ("config", "user.name", "A"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "a.txt").write_text("text\n")
    subprocess.run(["git", "add", "a.txt"], cwd=tmp_path, check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", "a"], cwd=tmp_path, check=True)
    os.utime(tmp_path / "a.txt", (1_000_000_000, 1_000_000_000))
    return tmp_path


def test_gits_own_status_would_write_this_index(repository):
    before = (repository / ".git/index").read_bytes()
    subprocess.run(["git", "status", "--porcelain"], cwd=repository, check=True)
    assert (repository / ".git/index").read_bytes() != before


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_writes_no_index(repository, words):
    index = repository / ".git/index"
    before, state = index.read_bytes(), index.stat()
    git(repository, *words, fine=(0, 1))
    after = index.stat()
    assert index.read_bytes() == before
    assert (after.st_ino, after.st_mtime_ns) == (state.st_ino, state.st_mtime_ns)


def test_reading_works_beside_a_git_that_has_the_lock(repository):
    (repository / ".git/index.lock").touch()
    assert git(repository, "status", "--porcelain") == b""
    assert (repository / ".git/index.lock").exists()
