"""How many tracked files are changed: as git tells it, but without running git."""

import os
import subprocess

import pytest
from nanocoder_context_files.branch import branch_line
from nanocoder_context_files.unstaged import MAX_READ_BYTES, count_unstaged

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.org")


def git(folder, *words):
    command = ["git", *AUTHOR, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(params=["2", "4"])
def root(tmp_path, request):
    """Return a repository with five files, whose index has the version of the parameter."""
    root = tmp_path / "repository"
    (root / "src/package").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "index.version", request.param)
    for name in ("a.py", "b.py", "src/a.py", "src/package/long name.py"):
        (root / name).write_text(f"# {name}\n")
    (root / "link").symlink_to("a.py")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def count(root):
    """Return the number, which has to be the one that git tells, too."""
    counted = count_unstaged(root / ".git", root)
    git(root, "-c", "core.fsmonitor=false", "update-index", "-q", "--really-refresh")
    lines = git(root, "status", "--porcelain=v1", "--untracked-files=no").splitlines()
    assert counted == sum(line[1] != " " for line in lines)
    return counted


def test_nothing_is_changed_in_a_new_checkout(root):
    assert count(root) == 0
    assert "branch main, with unstaged changes in no file (when this" in branch_line(root)


def test_changed_and_missing_files_are_counted(root):
    (root / "a.py").write_text("# b.py\n")
    (root / "src/package/long name.py").unlink()
    (root / "link").unlink()
    (root / "link").symlink_to("b.py")
    (root / "untracked.py").write_text("")
    assert count(root) == 3
    assert "with unstaged changes in 3 files" in branch_line(root / "src")


def test_a_file_of_another_kind_or_mode_is_changed(root):
    (root / "a.py").chmod(0o755)
    (root / "b.py").unlink()
    os.mkfifo(root / "b.py")
    assert count_unstaged(root / ".git", root) == 2


def test_a_new_time_alone_is_no_change(root):
    for name in ("a.py", "link"):
        os.utime(root / name, (1, 1), follow_symlinks=False)
    assert count(root) == 0


def test_staged_changes_are_not_counted_and_files_that_will_be_added_are(root):
    (root / "a.py").write_text("changed\n")
    (root / "new.py").write_text("new\n")
    git(root, "add", "a.py")
    git(root, "add", "--intent-to-add", "new.py")
    assert count(root) == 1


def test_a_conflict_is_one_change_and_a_skipped_file_none(root):
    git(root, "checkout", "-q", "-b", "other")
    for branch, text in (("other", "theirs\n"), ("main", "ours\n")):
        git(root, "checkout", "-q", branch)
        (root / "a.py").write_text(text)
        git(root, "commit", "-q", "-a", "-m", branch)
    subprocess.run(["git", *AUTHOR, "merge", "-q", "other"], cwd=root, check=False)
    git(root, "update-index", "--skip-worktree", "b.py")
    (root / "b.py").unlink()
    assert count_unstaged(root / ".git", root) == 1


def test_a_worktree_has_its_own_changes(root, tmp_path):
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    (root / "a.py").write_text("changed")
    assert "branch other, with unstaged changes in no file" in branch_line(tmp_path / "tree")


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC" + bytes(200), b"x" * 300])
def test_an_index_that_is_odd_says_nothing(root, content):
    (root / ".git/index").write_bytes(content)
    assert count_unstaged(root / ".git", root) is None
    assert "on the branch main (when this" in branch_line(root)


def test_an_index_with_longer_digests_says_nothing(tmp_path):
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a.py").write_text("a")
    git(tmp_path, "add", "a.py")
    assert count_unstaged(tmp_path / ".git", tmp_path) is None


def test_nothing_is_said_where_much_would_have_to_be_read(root):
    (root / "big").write_bytes(bytes(MAX_READ_BYTES + 1))
    git(root, "add", "big")
    os.utime(root / "big", (1, 1))
    assert count_unstaged(root / ".git", root) is None
