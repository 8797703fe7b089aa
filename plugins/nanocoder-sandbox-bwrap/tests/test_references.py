"""Branches, tags and the index that git in bubblewrap and a git outside change at once."""

import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from nanocoder_kit_sandbox.leases import LOCK, is_held
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_killed import kill_a_session, only_place
from sandbox_linked import tree_of
from sandboxed_place import SECRET, inside, repository  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")
PERSON = {
    f"GIT_{who}_{what}": "a@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}
COMMIT = "echo {0} > {0}; git add {0}; git commit -qm {0}"
LINK = 'BRANCH=$(git branch --show-current); echo "ref: refs/heads/{0}" > .git/refs/heads/{1}'
MOVE_KEPT = "BRANCH=$(git branch --show-current); git branch -D kept; git branch kept/x"


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


@pytest.fixture
def run(repository):  # noqa: F811
    """Run a command in one session; return what it did and the lines about it."""
    opened = repository.open()

    def run(command):
        done = repository.start(opened.wrap(["/bin/bash", "--norc", "-c", command], ()), PERSON)
        return done, opened.changes()

    run.opened = opened
    return run


@contextmanager
def running(repository, opened, command):  # noqa: F811
    """Run a command that waits at first; within the block it has begun, and ends after it."""
    argv = opened.wrap(["/bin/sh", "-c", f"touch ready; read -r end; {command}"], ())
    environ = {**os.environ, **PERSON}
    with subprocess.Popen(
        argv, cwd=repository.workspace, env=environ, stdin=subprocess.PIPE
    ) as process:
        await_that((repository.workspace / "ready").exists)
        yield
        process.communicate(b"\n")
    assert process.returncode == 0


def await_that(condition):
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def commit_outside(repository, name):  # noqa: F811
    (repository.workspace / name).touch()
    repository.git("add", name)
    repository.git("commit", "-qm", name)


def state(repository):  # noqa: F811
    """Return HEAD, the references and the index outside."""
    return (
        repository.git("rev-parse", "--symbolic-full-name", "HEAD"),
        repository.git("show-ref", "--head"),
        repository.git("ls-files", "-s"),
    )


def files_of(repository, revision="HEAD"):  # noqa: F811
    return set(repository.git("ls-tree", "--name-only", revision).split())


def test_a_commit_beside_that_of_a_person_takes_nothing_out(repository, run):  # noqa: F811
    with running(repository, run.opened, COMMIT.format("a")):
        commit_outside(repository, "p")
        before = state(repository)
    (change,) = run.opened.changes()
    assert state(repository) == before
    commit = re.search(r"made in the sandbox: ([0-9a-f]{40}) \(refs/heads/", change)[1]
    assert files_of(repository, commit) >= {"a", "file"}
    done, changes = run(f"git add a; git commit -qC {commit}")
    assert (done.returncode, done.stderr, changes) == (0, "", [])
    assert files_of(repository) >= {"a", "p", "file"}
    assert repository.git("log", "--format=%s", "-2") == "a\np\n"


def test_a_commit_comes_back_beside_a_new_branch_and_a_status_outside(repository, run):  # noqa: F811
    with running(repository, run.opened, COMMIT.format("a")):
        os.utime(repository.workspace / "file", (0, 0))
        repository.git("status")
        repository.git("branch", "other")
    assert run.opened.changes() == []
    assert files_of(repository) >= {"a", "file"}
    assert "other" in run("git branch")[0].stdout
    assert repository.git("status", "--short", "-uno") == ""


def test_a_commit_after_a_kill_takes_nothing_out(repository, box, monkeypatch):  # noqa: F811
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    command = f"{COMMIT.format('a')}; mkdir armed; sleep 60"
    kill_a_session(repository, box, repository.workspace, command)
    lock = only_place(repository) / LOCK
    await_that(lambda: not is_held(lock))
    commit_outside(repository, "p")
    after = state(repository)
    assert repository.git("show", "--format=", "--name-status") == "A\tp\n"
    repository.open()
    assert state(repository) == after


def test_a_commit_in_the_background_comes_back(repository, run):  # noqa: F811
    command = f"touch ready; read -r x; {COMMIT.format('a')}; read -r x; {COMMIT.format('b')}"
    argv = run.opened.wrap(["/bin/sh", "-c", command], ())
    with subprocess.Popen(
        argv, cwd=repository.workspace, env={**os.environ, **PERSON}, stdin=subprocess.PIPE
    ) as process:
        await_that((repository.workspace / "ready").exists)
        assert run("git status")[1] == []
        for name in ("a", "b"):
            process.stdin.write(b"\n")
            process.stdin.flush()
            await_that(lambda name=name: repository.git("log", "-1", "--format=%s") == f"{name}\n")
            await_that(lambda: repository.git("status", "--short", "-uno") == "")
    assert run.opened.changes() == []


def test_what_is_taken_over_meanwhile_disturbs_no_git_inside(repository, run):  # noqa: F811
    once = "date +%N > a; git add a; git commit -qm $((i += 1))"
    command = f"set -e; i=0; until [ -e stop ]; do {once}; done; git log --format=%s -1"
    first = int(repository.git("rev-list", "--count", "HEAD"))

    def stop_after_two_looks():
        for _ in range(2):
            before = repository.git("rev-parse", "HEAD")
            await_that(lambda before=before: repository.git("rev-parse", "HEAD") != before)
        (repository.workspace / "stop").touch()

    with ThreadPoolExecutor() as pool:
        watching = pool.submit(stop_after_two_looks)
        done, changes = run(command)
        watching.result()
    assert (done.returncode, done.stderr, changes) == (0, "", [])
    assert repository.git("log", "--format=%s", "-1") == done.stdout
    assert int(repository.git("rev-list", "--count", "HEAD")) == first + int(done.stdout)
    assert repository.git("status", "--short", "-uno") == ""


WAYS = {
    "rename into a folder": ("git branch -m x x/y", {"x/y": (0, 2), "z/z": (0, 1)}),
    "rename out of a folder": ("git branch -m z/z z", {"x": (0, 1), "z": (0, 2)}),
    "delete": ("git branch -qD x z/z", {}),
    "delete after packing": ("git pack-refs --all; git branch -qD x", {"z/z": (0, 1)}),
    "move": ("git branch -f x HEAD~1", {"x": (1, 2), "z/z": (0, 1)}),
    "move to a folder": ("git branch -D x; git branch x/y HEAD~1", {"x/y": (1, 1), "z/z": (0, 1)}),
    "forget": (
        "git reflog expire --expire=now --all; git gc -q || :",
        {"x": (0, 0), "z/z": (0, 0)},
    ),
}
"""Commands, and the branches after them: how many commits are above each, and in its log."""


@pytest.mark.parametrize("are_packed", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_branches_are_outside_as_inside(repository, run, way, are_packed):  # noqa: F811
    command, expected = WAYS[way]
    for name in ("x", "z/z"):
        repository.git("branch", name)
    if are_packed:
        repository.git("pack-refs", "--all")
    done, changes = run(f"set -e; {command}")
    assert done.returncode == 0, done.stderr
    assert not [line for line in changes if "objects of git" not in line]
    heads = repository.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert sorted(expected) == sorted(
        {*heads} - {repository.git("branch", "--show-current").strip()}
    )
    for name, (above, logged) in expected.items():
        assert repository.git("rev-parse", name) == repository.git("rev-parse", f"HEAD~{above}")
        assert repository.git("reflog", name).count("\n") == logged
    assert not [*(repository.workspace / ".git").rglob("*.lock")]
    assert repository.git("fsck", "--strict") == ""


def test_a_detached_head_a_symbolic_reference_and_a_tag_come_back(repository, run):  # noqa: F811
    command = f"set -e; git checkout -q --detach; {COMMIT.format('a')}; git tag -am v v"
    done, changes = run(f"{command}; git symbolic-ref refs/heads/alias refs/heads/x; git branch x")
    assert (done.returncode, changes) == (0, []), done.stderr
    assert repository.git("branch", "--show-current") == ""
    assert files_of(repository) >= {"a", "file"}
    assert repository.git("symbolic-ref", "refs/heads/alias") == "refs/heads/x\n"
    assert repository.git("cat-file", "-t", "v") == "tag\n"
    assert run("git symbolic-ref -d refs/heads/alias")[1] == []
    assert repository.git("for-each-ref", "refs/heads/alias") == ""
    assert "commit: a" in repository.git("reflog", "-1")


def test_stashes_come_back_each_once(repository, run):  # noqa: F811
    stash = "echo {0} > file; git stash -qm {0};"
    assert run("".join(map(stash.format, "abc")) + "git stash drop -q 'stash@{1}'")[1] == []
    listed = repository.git("stash", "list", "--format=%gs")
    assert [line[-1] for line in listed.splitlines()] == ["c", "a"]
    assert run("git stash pop -q; git stash drop -q")[1] == []
    assert repository.git("stash", "list") == ""
    assert (repository.workspace / "file").read_text() == "c\n"


HOSTILE = {
    "a link": "ln -s $OUT/file .git/refs/heads/x",
    "a folder that is a link": "ln -s $OUT .git/refs/heads/x",
    "all of them a link": "rm -r .git/refs; ln -s $OUT .git/refs",
    "logs that are a link": "rm -r .git/logs; ln -s $OUT .git/logs",
    "a log that is a link": "ln -sf $OUT/file .git/logs/HEAD",
    "a fifo": "mkfifo .git/refs/heads/x",
    "a name git refuses": "git rev-parse HEAD > '.git/refs/heads/a..b'",
    "a name with lines": "git rev-parse HEAD > $'.git/refs/heads/a\\nb'",
    "a huge file": "truncate -s 300M .git/refs/heads/x",
    "a huge log": "truncate -s 300M .git/logs/refs/heads/x",
    "no commit": "echo x > .git/refs/heads/x",
    "a path": "echo ref: refs/../../../out/file > .git/refs/heads/x",
    "a missing object": "git rev-parse HEAD | tr 0-9a-f a-f0-9 > .git/refs/heads/x",
    "a tree": "git rev-parse HEAD^{tree} > .git/refs/heads/x",
    "a detached HEAD without a commit": "x=$(git rev-parse HEAD | tr 0-9a-f a-f0-9);"
    " echo $x > .git/HEAD",
    "a detached HEAD of a tree": "x=$(git rev-parse HEAD^{tree}); echo $x > .git/HEAD",
    "a HEAD git refuses": "echo ref: refs/heads/a~b: > .git/HEAD",
    "a HEAD that leads to itself": "echo ref: refs/heads/x | tee .git/HEAD > .git/refs/heads/x",
    "a link to a name git refuses": f"{COMMIT.format('a')}; {LINK.format('a~b', 'x')}",
    "a branch that leads to itself": f"{COMMIT.format('a')}; {LINK.format('$BRANCH', '$BRANCH')}",
    "a branch without its own value": LINK.format("kept", "$BRANCH"),
    "links that lead to each other": f"{LINK.format('x', 'y')}; {LINK.format('y', 'x')}",
    "a link that is a folder of branches": "git pack-refs --all; git branch x/y; git pack-refs"
    f" --all; rm -fr .git/refs/heads/x; {LINK.format('kept', 'x')}",
    "no commit in place of a branch": f"{MOVE_KEPT}; echo {'12' * 20} > .git/refs/heads/kept/x",
    "a name git refuses in place of a branch": f"{MOVE_KEPT}; cp .git/refs/heads/kept/x"
    " '.git/refs/heads/kept/a..b'",
    "a folder of a branch in place of another": f"{MOVE_KEPT}; git pack-refs --all;"
    ' echo "$(git rev-parse HEAD) refs/heads/$BRANCH/x" >> .git/packed-refs',
    "the end of all history": "git rev-parse HEAD > .git/shallow",
    "a deep folder": "cd .git/refs; for i in $(seq 900); do mkdir d; cd d; done",
    "an empty index": "> .git/index",
    "no HEAD": "rm .git/HEAD",
}


@pytest.mark.parametrize("way", HOSTILE)
def test_what_is_no_reference_of_git_changes_nothing_outside(repository, run, way):  # noqa: F811
    repository.git("branch", "kept")
    (repository.out / "HEAD").write_text(SECRET)
    before, other = state(repository), {path: path.read_text() for path in repository.out.iterdir()}
    _, changes = run(HOSTILE[way])
    assert len(changes) == 1, changes
    assert "nothing that git did in the sandbox" in changes[0]
    assert state(repository) == before
    assert {path: path.read_text() for path in repository.out.iterdir()} == other
    assert SECRET not in (repository.workspace / ".git/logs/HEAD").read_text()
    links = [path for path in (repository.workspace / ".git").rglob("*") if path.is_symlink()]
    assert links == []
    done, changes = run(COMMIT.format("b"))
    assert (done.returncode, done.stderr, changes) == (0, "", [])
    assert files_of(repository) >= {"b", "file"}


@pytest.mark.parametrize("path", ["refs", "refs/heads", "logs", "logs/refs", "packed-refs"])
def test_a_link_of_a_stranger_in_the_repository_leads_nowhere(repository, run, path):  # noqa: F811
    repository.git("branch", "x")
    repository.git("pack-refs", "--all")
    link, target = repository.workspace / ".git" / path, repository.out / "target"
    link.rename(target)
    link.symlink_to(target)
    before = tree_of(repository.out)
    run(f"git branch -D x; git branch y; {COMMIT.format('a')}; git pack-refs --all")
    assert tree_of(repository.out) == before


def test_a_folder_swapped_for_a_link_meanwhile_leads_nowhere(repository, run):  # noqa: F811
    """Copying in what a person changes goes through no link that a program makes inside."""
    swap = (
        "mkdir -p .git/refs/heads/f; touch ready; read -r end;"
        " mv .git/refs/heads/f .git/refs/heads/g; ln -s $OUT .git/refs/heads/f; sleep 3"
    )
    argv = run.opened.wrap(["/bin/sh", "-c", swap], ())
    environ = {**os.environ, "OUT": str(repository.out)}
    with subprocess.Popen(
        argv, cwd=repository.workspace, env=environ, stdin=subprocess.PIPE
    ) as process:
        await_that((repository.workspace / "ready").exists)
        repository.git("branch", "f/file")
        process.communicate(b"\n")
    run.opened.changes()
    assert (repository.out / "file").read_text() == "before"
    assert repository.git("rev-parse", "f/file") == repository.git("rev-parse", "HEAD")
    assert run("git branch --list f/file")[0].stdout == "  f/file\n"


def test_the_references_of_a_repository_of_sha256_come_back(inside):  # noqa: F811
    (inside.workspace / ".git").rename(inside.out / "old")
    inside.git("init", "-q", "--object-format=sha256")
    inside.git("commit", "-qm", "first", "--allow-empty")
    opened = inside.open()
    command = "git commit -q --allow-empty -m second; git branch x; git branch -m x y"
    assert inside.start(opened.wrap(["/bin/sh", "-c", command], ()), PERSON).stderr == ""
    opened.changes()
    assert inside.git("log", "--format=%s", "y") == "second\nfirst\n"


def test_a_symbolic_reference_as_long_as_a_hash_comes_back(repository, run):  # noqa: F811
    target = "b" * (64 - len("ref: refs/heads/"))
    command = f"git branch {target}; git symbolic-ref refs/remotes/origin/HEAD refs/heads/{target}"
    assert run(command)[1] == []
    done, changes = run(COMMIT.format("a"))
    assert (done.returncode, done.stderr, changes) == (0, "", [])
    head = repository.git("symbolic-ref", "refs/remotes/origin/HEAD")
    assert head == f"refs/heads/{target}\n"
    assert files_of(repository) >= {"a", "file"}


def test_a_head_without_commits_and_a_link_to_it_come_back(repository, run):  # noqa: F811
    command = "git checkout -q --orphan new; git symbolic-ref refs/heads/alias refs/heads/new"
    assert run(command)[1] == []
    assert repository.git("branch", "--show-current") == "new\n"
    assert run(COMMIT.format("a"))[1] == []
    assert repository.git("rev-parse", "alias") == repository.git("rev-parse", "HEAD")


@pytest.mark.parametrize("way", ["rm .git/shallow", ": > .git/shallow"])
def test_history_goes_on_ending_where_it_ended(repository, run, way):  # noqa: F811
    shallow = repository.workspace / ".git/shallow"
    shallow.write_text(repository.git("rev-parse", "HEAD"))
    before = shallow.read_text()
    done, changes = run(f"{way}; {COMMIT.format('a')}")
    assert (done.returncode, done.stderr, changes) == (0, "", [])
    assert files_of(repository) >= {"a", "file"}
    assert shallow.read_text() == before == run("cat .git/shallow")[0].stdout
