"""With the access READ the workspace cannot be changed, and the session learns what was refused."""

import os
import shlex

import pytest
from nanocoder import Access
from nanocoder_kit_sandbox import Settings
from sandboxed_place import PYTHON, SECRET, inside, repository, snapshot  # noqa: F401

REFUSED = "the workspace is read-only in this mode; writing was refused: "
WAYS = {
    "a new file": ("echo x > new", "new"),
    "a file": ("echo x > file", "file"),
    "more of a file": ("echo x >> file", "file"),
    "a folder": ("mkdir new", "new"),
    "no file": ("rm file", "file"),
    "no folder": ("rmdir empty", "empty"),
    "another name": ("mv file other", "file"),
    "a name from outside": ("echo x > $TMPDIR/a; mv $TMPDIR/a b", "b"),
    "a link": ("ln -s file link", "link"),
    "a mode": ("chmod 777 file", "file"),
    "a time": ("touch -d @5 file", "file"),
    "git": ("git tag x", ".git/refs/tags/x.lock"),
}


def read(place, sandbox, command):
    argv = sandbox.wrap(["/bin/bash", "--norc", "-c", command], (), Access.READ)
    return place.start(argv, {"GIT_CONFIG_COUNT": "1", **SAFE})


SAFE = {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


@pytest.mark.rows(8)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("has_secret", [True, False])
def test_nothing_of_the_workspace_is_changed(repository, way, has_secret):  # noqa: F811
    (repository.workspace / "empty").mkdir()
    if not has_secret:
        (repository.workspace / ".env").unlink()
        (repository.workspace / "private/notes").unlink()
        (repository.workspace / "private").rmdir()
    sandbox = repository.open()
    before = snapshot(repository.workspace)
    command, name = WAYS[way]
    done = read(repository, sandbox, command)
    assert done.returncode != 0
    assert "Read-only file system" in done.stderr
    assert {path: facts[1:] for path, facts in snapshot(repository.workspace).items()} == {
        path: facts[1:] for path, facts in before.items()
    }
    assert sandbox.changes() == [REFUSED + name]
    assert sandbox.changes() == []


def test_what_would_change_nothing_is_not_said(repository):  # noqa: F811
    sandbox = repository.open()
    (repository.workspace / "sub").mkdir()
    command = "mkdir -p sub; rm -f nothing; cat file; echo x > $TMPDIR/a; cat $TMPDIR/a > /dev/null"
    done = read(repository, sandbox, f"set -e; {command}; git status --short >/dev/null; echo done")
    assert (done.stdout, done.stderr) == ("x\ndone\n", "")
    assert sandbox.changes() == []


def test_many_names_are_cut(inside):  # noqa: F811
    sandbox = inside.open()
    read(inside, sandbox, "for n in $(seq 100); do echo > file$n; done")
    assert sandbox.changes() == [f"{REFUSED}file1, file2, file3, file4, file5, …"]


def test_secrets_are_not_read_and_new_files_of_the_person_are(inside):  # noqa: F811
    sandbox = inside.open()
    assert SECRET not in read(inside, sandbox, "cat .env private/notes").stdout


@pytest.mark.rows(1)
def test_a_change_through_a_file_that_is_open_is_refused(inside):  # noqa: F811
    (inside.workspace / "file").write_text("x")
    sandbox = inside.open()
    source = "import os; f = os.open('file', 0); {}"
    for attack in ("os.fchmod(f, 0o777)", "os.utime(f, (1, 1))", "os.truncate('file', 0)",
                   "os.open(f'/proc/self/fd/{f}', os.O_RDWR)", "os.link('file', 'hard')",
                   "os.mkfifo('pipe')", "os.open('.', os.O_TMPFILE | os.O_RDWR)"):  # fmt: skip
        done = read(inside, sandbox, f"{PYTHON} {shlex.quote(source.replace('{}', attack))}")
        assert done.returncode == 1, attack
    assert os.listdir(inside.workspace).count("hard") == 0
    assert (inside.workspace / "file").read_text() == "x"


def test_a_run_of_tests_fails_for_no_cache(inside, monkeypatch):  # noqa: F811
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q")
    (inside.workspace / "module.py").write_text("x = 1\n")
    sandbox = inside.open()
    script = "import os, module; print(os.environ['PYTEST_ADDOPTS'])"
    done = read(inside, sandbox, f"PYTHONPATH=. /usr/bin/env python3 -S -c {shlex.quote(script)}")
    assert done.stdout.startswith("-q -o cache_dir=/"), done.stderr
    assert sandbox.changes() == []


@pytest.mark.rows(1)
def test_the_next_command_may_write(inside):  # noqa: F811
    sandbox = inside.open()
    read(inside, sandbox, "echo x > a")
    inside.start(sandbox.wrap(["/bin/sh", "-c", "echo y > a"], (), Access.WRITE))
    assert (inside.workspace / "a").read_text() == "y\n"


def test_what_a_person_let_commands_write_stays_writable(inside):  # noqa: F811
    sandbox = inside.open(Settings(writable=(str(inside.out),)))
    assert read(inside, sandbox, "echo x > $OUT/new").returncode == 0
