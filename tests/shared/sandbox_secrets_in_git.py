"""Secret files that git has, in each sandbox: git shows nothing of them, and works on the rest.

The plugin's tests have a fixture *box*, and import the fixture *repository*.
"""

import os

import pytest
from nanocoder import Access
from sandbox_index import LONG_AGO
from sandboxed_place import SECRET

SHOWING = ("git diff --cached", "git status -vv", "git show :.env", "git stash; git stash show -p")
TRACKED = {
    "git status --short -uno": " M file\n",
    "git diff --stat": " file | 1 +\n 1 file changed, 1 insertion(+)\n",
    "git diff HEAD --stat": " file | 1 +\n 1 file changed, 1 insertion(+)\n",
    "git -c user.name=a -c user.email=a@example.org stash -q && git stash pop -q": "",
    "git -c user.name=a -c user.email=a@example.org commit -qam x && git log --format=%s -1": "x\n",
}


def assert_nothing_is_shown(repository, access):
    """Assert that git shows a file that was added, and no secret one."""
    for name in ("a.txt", "IEOT"):  # as the part of an index that has offsets is called
        (repository.workspace / name).write_text("shown\n")
    repository.git("add", "-f", ".env", "a.txt", "IEOT")
    box = repository.open()
    for command in SHOWING:
        # First: whether a stash takes it away depends on the time at which the files were written.
        argv = box.wrap(["/bin/sh", "-c", f"git show :a.txt; {command}"], (), access)
        done = repository.start(argv)
        assert SECRET not in done.stdout + done.stderr, done
        assert "shown" in done.stdout, done


@pytest.mark.contract("C15")
def test_git_shows_nothing_that_was_added_of_a_secret_file(repository):
    assert_nothing_is_shown(repository, Access.READ)


@pytest.mark.rows(2)
@pytest.mark.parametrize("command", TRACKED)
def test_git_works_where_secret_files_are_tracked(repository, command):
    for name in (".env", "private/notes"):
        os.utime(repository.workspace / name, (LONG_AGO, LONG_AGO))
    repository.git("add", "-f", ".env", "private")
    repository.git("commit", "-qm", "secrets")
    with (repository.workspace / "file").open("a") as file:
        file.write("y\n")
    done = repository.run(command)
    assert (done.stdout, done.stderr, done.returncode) == (TRACKED[command], "", 0), done
