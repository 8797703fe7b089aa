"""Objects of git that a command in a sandbox removes: they are back when it has ended.

The plugin's tests have a fixture *box*, and import the fixture *repository*.
"""

import shutil

import pytest

REMOVING = {
    "git": "git branch -qD lost; git reflog expire --expire=now --all; git gc -q --prune=now",
    "rm": "rm -rf .git/objects/* .git/objects",
    "the whole workspace": 'rm -rf "$PWD"; find "$PWD" -type f -delete',
    "an editor of streams": "find .git -type f -exec sed -i s/e/x/ {} ';'",
    "a link": "for d in .git/objects/??; do rm -r $d; ln -s $OUT $d; done",
}


@pytest.mark.rows(2)
@pytest.mark.parametrize("way", REMOVING)
def test_no_command_takes_the_objects_of_a_repository(repository, way):
    repository.git("checkout", "-qb", "lost")
    repository.git("commit", "-q", "--allow-empty", "-m", "lost")
    lost = repository.git("rev-parse", "HEAD").strip()
    repository.git("checkout", "-q", "-")
    repository.git("repack", "-q")
    names = repository.git("rev-list", "--objects", "--all").split("\n")
    box = repository.open()
    repository.start(box.wrap(["/bin/bash", "--norc", "-c", REMOVING[way]], ()))
    said = box.changes()
    assert [line for line in said if "put back: in the sandbox none goes" in line], said
    for line in filter(None, names):
        repository.git("cat-file", "-e", line.split()[0])
    assert repository.git("log", "-1", "--format=%s", lost) == "lost\n"
    assert not [*repository.out.glob("*" + "[0-9a-f]" * 38)]
    repository.close()
    assert not [*(repository.workspace / ".git").glob("nanocoder*")]


def test_objects_that_a_killed_session_kept_are_put_back_by_the_next_one(repository):
    kept = repository.workspace / ".git/nanocoder-objects-0"
    shutil.copytree(repository.workspace / ".git/objects", kept)
    shutil.rmtree(repository.workspace / ".git/objects")
    (repository.workspace / ".git/objects").mkdir()
    repository.open()
    assert not kept.exists()
    assert "first" in repository.git("log", "--format=%s")


def test_what_a_command_commits_is_kept_from_the_next_one(repository):
    box = repository.open()
    commit = "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m new"
    for command in (commit, "rm -rf .git/objects/??"):
        repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert box.changes() != []
    assert repository.git("log", "-1", "--format=%s") == "new\n"
