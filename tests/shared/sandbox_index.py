"""The time of git's index, by which git sees what may have changed, in each sandbox.

The plugin's tests have a fixture *box*, and import the fixture *repository*.
"""

import os

from sandboxed_place import PYTHON

LONG_AGO = 1_000_000_000
"""A time in seconds since 1970."""


def test_a_file_that_changed_when_the_index_was_written_is_seen_inside(repository):
    """Git looks into a file that is as large and as old as its index says, if that is as old."""
    file, index = repository.workspace / "file", repository.workspace / ".git/index"
    repository.git("config", "core.trustctime", "false")
    os.utime(file, (LONG_AGO, LONG_AGO))
    repository.git("update-index", "--refresh")
    file.write_text("y\n")
    for path in (file, index):
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert repository.run("git status --short -uno").stdout == " M file\n"


def test_an_index_from_inside_is_as_old_as_it_was_there(repository):
    script = (
        "import os; lock = '.git/index.lock'; content = open('.git/index', 'rb').read();"
        f" open(lock, 'wb').write(content); os.utime(lock, ({LONG_AGO}, {LONG_AGO}));"
        " os.rename(lock, '.git/index')"
    )
    done = repository.run(f'touch new; git add new; {PYTHON} "{script}"')
    assert done.stderr == ""
    repository.close()
    assert (repository.workspace / ".git/index").stat().st_mtime == LONG_AGO
