"""Git in Landlock works on the repository itself, and leaves nothing for a git outside."""

import os
import shutil
import subprocess
import time

import pytest
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandbox_git import (  # noqa: F401
    FORGED,
    PYTHON,
    WORK,
    assert_work_is_seen,
    forge_index,
    test_a_file_that_settings_include_and_that_is_made_inside_is_moved_away,
    test_a_folder_of_hooks_that_is_made_inside_is_moved_away,
    test_a_hook_of_the_person_stays_as_it_is,
    test_a_protected_file_of_the_person_may_be_added_inside,
    test_each_attack_works_without_a_sandbox,
    test_files_that_settings_include_stay_as_they_are,
    test_git_outside_starts_nothing_of_an_attacker,
    test_git_outside_writes_to_no_file_that_a_link_leads_to,
    test_no_reference_leads_out_of_the_repository,
    test_objects_are_not_read_from_elsewhere,
    test_settings_that_are_replaced_outside_meanwhile_stay_protected,
    test_submodules_that_are_there_already_stay,
    test_the_work_of_both_sides_is_seen_by_the_other,
)
from sandbox_index import *  # noqa: F403
from sandbox_killed import kill_a_session
from sandbox_objects import *  # noqa: F403
from sandbox_secrets_in_git import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401

NAMES = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


def test_git_reads(repository):  # noqa: F811
    done = repository.run("echo new > other; git status --short; git log --format=%s; git diff")
    assert done.stdout == "?? .env\n?? other\n?? private/\nsecond\nfirst\n"
    assert done.stderr == ""


@pytest.mark.parametrize("has_secret", [True, False])
def test_everyday_work_is_done_in_the_repository(repository, has_secret):  # noqa: F811
    if not has_secret:
        (repository.workspace / ".env").unlink()
        shutil.rmtree(repository.workspace / "private")
    repository.git("branch", "-m", "main")
    done = repository.run(WORK, **NAMES)
    assert (done.returncode, done.stderr) == (0, "")
    assert_work_is_seen(repository)


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "command",
    [
        "echo z > file; git commit -qam x; git reset -q --hard HEAD~1; git checkout -q HEAD~1",
        "echo z > file; git commit -qam z; git revert --no-edit HEAD; git cherry-pick HEAD~1",
        "git commit -q --amend --allow-empty -m y",
        "echo z > file; git commit -qm part file; git stash list; git notes add -m n",
        "git gc -q; git checkout -q --orphan new; git rm -rqf --cached .",
        "git worktree list; git bundle create -q $TMPDIR/b HEAD; git archive HEAD | tar -t",
        "git branch x; git branch -q -d x; git update-ref refs/heads/y HEAD; git prune",
    ],
)
def test_what_git_writes_is_written(repository, command):  # noqa: F811
    done = repository.run(f"set -e; {command}", **NAMES)
    assert done.returncode == 0, done.stderr
    assert repository.git("fsck", "--strict", "--no-dangling") == ""


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    "command",
    [
        "git config user.name evil",
        "echo x > .git/config.lock; mv .git/config.lock .git/config",
        "echo x > $TMPDIR/a; mv $TMPDIR/a .git/config",
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/info/attributes",
        "mkdir .git/modules",
        "mkdir .git/worktrees",
        "echo x > .git/commondir",
        "echo x > .git/BISECT_NAMES",
        "echo x > .git/objects/info/alternates",
        "echo x > $TMPDIR/a; mv $TMPDIR/a .git/objects/info/alternates",
        "ln -s $OUT .git/refs/heads/link",
        "ln -s $OUT link; mv link .git/logs/link; ! test -L .git/logs/link",
        "mkdir d; ln -s $OUT d/link; mv d .git/refs/d; ! test -L .git/refs/d/link",
        "ln evil .git/refs/heads/evil",
        "rm .git/HEAD",
        "mv .git/HEAD gone",
        "echo x > .git/HEAD",
        "echo x > .git/HEAD.lock; mv .git/HEAD.lock .git/HEAD",
        "mv .git/refs gone",
        "mv .git/objects .git/refs/objects",
        "mv .git gone",
        "chmod 0 .git",
        "chmod 0 .git/HEAD",
        "mkfifo .git/refs/heads/pipe",
        "git worktree add -q $TMPDIR/tree",
    ],
)
def test_what_decides_what_runs_is_not_written(repository, command):  # noqa: F811
    git = repository.workspace / ".git"
    before = {str(path): path.lstat().st_mode for path in git.rglob("*")}
    done = repository.run(f"{command} || exit 9", **NAMES)
    repository.close()
    links = [path for path in git.rglob("*") if not path.is_file() and not path.is_dir()]
    assert not links
    assert done.returncode == 9 or "!" in command, done.stdout
    for name in ("config", "HEAD", "hooks", "info", "objects", "refs"):
        assert (git / name).lstat().st_mode == before[str(git / name)]
    for name in ("hooks/pre-commit", "modules", "worktrees", "commondir"):
        assert not os.path.lexists(git / name)
    assert "first" in repository.git("log", "--format=%s")


@pytest.mark.parametrize("path", FORGED)
def test_an_index_that_leads_out_of_the_checkout_is_refused(repository, path):  # noqa: F811
    lock = "pathlib.Path('.git/index.lock')"
    put = f"{lock}.write_bytes(forged); {lock}.rename('.git/index')"
    box = repository.open()
    command = forge_index(path, put, "-f $TMPDIR/c")
    done = repository.start(box.wrap(["/bin/bash", "--norc", "-c", command], ()))
    assert "PermissionError" in done.stderr
    [line] = box.changes()
    assert line.startswith(".git/index names a ")
    repository.close()
    other = path.replace(".", "_").replace("/", "_")
    assert sorted(repository.git("ls-files").split()) == sorted([other, "evil", "file"])


def test_an_index_is_not_changed_by_who_still_has_its_lock_open(repository):  # noqa: F811
    script = (
        "import os; lock = os.open('.git/index.lock', os.O_CREAT | os.O_RDWR);"
        " os.write(lock, open('.git/index', 'rb').read());"
        " os.rename('.git/index.lock', '.git/index'); os.pwrite(lock, b'evil', 0)"
    )
    done = repository.run(f'{PYTHON} "{script}"')
    assert done.returncode == 0, done.stderr
    assert (repository.workspace / ".git/index").read_bytes().startswith(b"DIRC")


CONFLICT = (
    "echo one > file; git commit -qam one; git checkout -q -b side HEAD~1; echo two > file;"
    " git commit -qam two; git rebase -q -"
)


def test_a_rebase_is_refused_and_changes_nothing(repository):  # noqa: F811
    box = repository.open()
    argv = box.wrap(["/bin/bash", "--norc", "-c", CONFLICT], ())
    done = repository.start(argv, {**NAMES, "GIT_EDITOR": "true"})
    assert done.returncode != 0
    [line] = box.changes()
    assert line == (
        ".git/rebase-merge cannot be made in this sandbox: a rebase, or another work of git in"
        ' several steps, needs access "outside"'
    )
    assert not (repository.workspace / ".git/rebase-merge").exists()
    assert repository.git("branch", "--show-current").strip() == "side"
    assert repository.git("log", "-2", "--format=%s").split() == ["two", "second"]


def test_the_rebase_of_a_person_stays_as_it_is(repository):  # noqa: F811
    for command in CONFLICT.split(";"):
        argv = ["/bin/sh", "-c", command]
        environment = {**os.environ, **NAMES}
        subprocess.run(argv, cwd=repository.workspace, env=environment, check=False)
    todo = repository.workspace / ".git/rebase-merge/git-rebase-todo"
    before = todo.read_text()
    repository.run(f"echo 'exec {repository.workspace}/evil' >> {todo}; mv .git/rebase-merge x")
    repository.close()
    assert todo.read_text() == before


def test_a_rebase_that_a_person_begins_meanwhile_stays(repository):  # noqa: F811
    argv = repository.open().wrap(["/bin/sh", "-c", "git tag x; touch ready; cat"], ())
    todo = repository.workspace / ".git/rebase-merge/git-rebase-todo"
    command = subprocess.Popen(argv, cwd=repository.workspace, stdin=subprocess.PIPE)
    with command:
        while not (repository.workspace / "ready").exists():
            time.sleep(0.01)
        todo.parent.mkdir()
        todo.write_text("pick")
    assert todo.read_text() == "pick"


def test_settings_that_are_refused_are_said(repository):  # noqa: F811
    box = repository.open()
    argv = box.wrap(["/bin/sh", "-c", "git config user.name evil"], ())
    assert repository.start(argv).returncode != 0
    assert box.changes() == [".git/config cannot be changed in the sandbox"]


@pytest.mark.parametrize("words", ["config core.pager less", "remote add x y"])
def test_a_person_can_let_git_write_all(repository, words):  # noqa: F811
    assert repository.run(f"git {words}").returncode != 0
    assert repository.run(f"git {words}", Settings(writable=(".git",))).returncode == 0


LOCKING = """sleep 60 | git update-index --index-info &
until [ -e .git/index.lock ]; do sleep 0.01; done; {}"""
"""A git holds the lock of the index while it reads."""


def test_the_lock_of_a_git_that_was_killed_inside_is_removed(repository):  # noqa: F811
    done = repository.run(LOCKING.format("kill -9 $!; ls .git/index.lock"))
    assert done.stdout == ".git/index.lock\n"
    assert repository.git("add", "-v", ".env") == "add '.env'\n"


def test_the_lock_of_a_git_in_a_session_that_was_killed_is_removed(repository, box):  # noqa: F811
    kill_a_session(repository, box, repository.workspace, LOCKING.format("mkdir armed; wait"))
    until = time.monotonic() + 20
    while (repository.workspace / ".git/index.lock").exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_lock_of_a_git_outside_stays(repository):  # noqa: F811
    command = "git add .; git add evil; touch ready; read -r end"
    argv = repository.open().wrap(["/bin/sh", "-c", command], ())
    lock = repository.workspace / ".git/index.lock"
    with subprocess.Popen(argv, cwd=repository.workspace, stdin=subprocess.PIPE) as running:
        while not (repository.workspace / "ready").exists():
            time.sleep(0.01)
        lock.touch()
        running.communicate(b"\n")
    assert lock.exists()
