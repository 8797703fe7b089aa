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


DERIVED = {
    "new": "printf garbage > $PACKS/multi-pack-index",
    "beside a pack": "for name in $PACKS/*.pack; do printf x > ${name%pack}bitmap; done",
    "in place of another": "git repack -q; git multi-pack-index write; rm -f $PACKS/multi*;"
    " head -c 2000 /dev/zero > $PACKS/multi-pack-index",
    "a link": "ln -s $OUT/file $PACKS/multi-pack-index",
    "a folder": "mkdir -p $PACKS/multi-pack-index/a",
}


@pytest.mark.rows(2)
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("way", DERIVED)
def test_no_command_forges_what_git_derives_from_packs(repository, way, is_there):
    repository.git("repack", "-qad")
    packs = repository.workspace / ".git/objects/pack"
    if is_there:
        repository.git("multi-pack-index", "write")
    before = {path: path.read_bytes() for path in packs.iterdir()}
    box = repository.open()
    prepare = "PACKS=.git/objects/pack; "
    command = prepare + ("" if way == "new" else "rm -f $PACKS/multi*; ") + DERIVED[way]
    repository.start(box.wrap(["/bin/bash", "--norc", "-c", command], ()))
    box.changes()
    assert {*packs.iterdir()} <= {*before}
    assert all(path.read_bytes() == before[path] for path in packs.iterdir())
    assert repository.git("fsck", "--strict") == ""
    assert repository.git("multi-pack-index", "verify") == ""
    assert "first" in repository.git("log", "--format=%s")


def test_what_git_derived_from_packs_before_stays(repository):
    repository.git("repack", "-qad")
    repository.git("multi-pack-index", "write")
    index = repository.workspace / ".git/objects/pack/multi-pack-index"
    before = index.stat().st_ctime_ns
    box = repository.open()
    for _ in range(2):
        repository.start(box.wrap(["/bin/sh", "-c", "git log; git status"], ()))
        box.changes()
    assert index.stat().st_ctime_ns == before
