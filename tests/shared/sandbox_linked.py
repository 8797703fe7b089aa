"""Git where `.git` is a file: in a linked worktree, and in a submodule.

The plugin's tests have a fixture *box*, which opens a sandbox: `box(session, settings)`,
and import the fixtures *inside* and *linked*.
"""

import os
import shutil

import pytest
from nanocoder import Access
from nanocoder_kit_sandbox import Settings
from sandbox_git import WORK, assert_work_is_seen
from sandbox_secrets_in_git import assert_nothing_is_shown
from sandboxed_place import SECRET

NAMES = {
    f"GIT_{who}_{what}": "a@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


class Linked:
    """A workspace of a *kind*, "worktree" or "submodule", of the repository *main*."""

    def __init__(self, kind, place):
        self.place, self.main = place, place.root / "main"
        workspace = place.workspace.rename(self.main).with_name("ws")
        place.workspace = self.main
        if kind == "worktree":
            self.in_main("worktree", "add", "-q", "-b", "tree", str(workspace))
            self.in_main("worktree", "add", "-q", "-b", "third", str(place.root / "third"))
            place.workspace = workspace
            self.common = self.main / ".git"
            self.own = self.common / "worktrees/ws"
        else:
            add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f")
            self.in_main(*add, str(self.main), "mod")
            self.in_main("commit", "-qm", "third")
            place.workspace = self.main / "mod"
            self.common = self.own = self.main / ".git/modules/mod"
        (place.workspace / ".env").write_text(SECRET)

    def in_main(self, *words):
        """Run git in the main repository, as its person."""
        return self.place.git("-C", str(self.main), *words)

    def run(self, box, command, access=Access.WRITE):
        """Run a command in an open sandbox; return what it did, and what is said of it."""
        argv = box.wrap(["/bin/bash", "--norc", "-c", command], (), access)
        return self.place.start(argv, NAMES), box.changes()


@pytest.fixture(params=["worktree", "submodule"])
def linked(request, repository):
    """Provide a workspace of each kind."""
    return Linked(request.param, repository)


def tree_of(folder, besides=()):
    """Return the content of each file below a folder, without those below *besides*."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(path.is_relative_to(each) for each in besides)
    }


@pytest.mark.rows(2)
@pytest.mark.parametrize("access", Access)
def test_git_reads_a_linked_checkout(linked, access):
    command = "echo y > file; git status --short -uno; git log -1 --format=%s; git diff --stat"
    reading = command if access is Access.WRITE else command.partition("; ")[2]
    (linked.place.workspace / "file").write_text("y\n")
    done, changes = linked.run(linked.place.open(), reading, access)
    assert done.stdout.startswith(" M file\nsecond\n file | 2 +-\n")
    assert (done.stderr, changes) == ("", [])


def test_everyday_work_in_a_linked_checkout_is_seen_outside(linked):
    linked.place.git("branch", "-m", "main" if linked.own == linked.common else "m")
    work = WORK if linked.own == linked.common else WORK.replace("-q main;", "-q m;")
    done, changes = linked.run(linked.place.open(), work)
    assert (done.returncode, done.stderr, changes) == (0, "", [])
    linked.place.close()
    assert_work_is_seen(linked.place)
    assert linked.in_main("status", "--short", "-uno", "--ignore-submodules") == ""


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    "command",
    [
        "git reset -q --hard HEAD~1; git checkout -q -b other; git commit -q --allow-empty -m x",
        "echo z > file; git stash -q; git stash drop -q; git tag t; git tag -d t; git branch -D x",
        "git pack-refs --all; git branch y; git branch -D x y; git commit -q --allow-empty -m x",
    ],
)
def test_what_git_writes_in_a_linked_checkout_is_written(linked, command):
    linked.place.git("branch", "x")
    done, changes = linked.run(linked.place.open(), f"set -e; {command}")
    assert (done.returncode, changes) == (0, []), done.stderr
    linked.place.close()
    assert linked.place.git("fsck", "--strict", "--no-dangling") == ""
    assert linked.place.git("status", "--short", "-uno") == ""


@pytest.mark.rows(6)
@pytest.mark.parametrize(
    "command",
    [
        "git config core.fsmonitor $PWD/evil",
        "echo x > COMMON/config",
        "echo x > COMMON/a; mv COMMON/a COMMON/config",
        "mkdir -p COMMON/hooks; cp evil COMMON/hooks/pre-commit",
        "mkdir -p COMMON/info; echo '* diff=x' > COMMON/info/attributes",
        "echo /elsewhere > COMMON/objects/info/alternates",
        "echo x > OWN/config.worktree",
        "echo x > OWN/commondir",
        "echo x > OWN/gitdir",
        "rm .git; git init -q; git config core.fsmonitor $PWD/evil",
        "mv .git old; echo 'gitdir: evil' > .git",
        "ln -sf $OUT/file COMMON/refs/heads/link",
        "ln -sf $OUT/file OWN/logs/link",
        "ln -sf $OUT/file OWN/HEAD",
        "mkdir OWN/rebase-merge; echo exec $PWD/evil > OWN/rebase-merge/git-rebase-todo",
        "rm -rf MAIN/file MAIN/.git/index MAIN/.git/HEAD; echo x > MAIN/file",
        "echo x > MAIN/.git/HEAD; echo x > MAIN/.git/index; git -C MAIN checkout -q -b bad",
        "echo x > MAIN/.git/worktrees/third/HEAD; echo x > MAIN/../third/file",
        "echo x > MAIN/.git/MERGE_HEAD; echo x > MAIN/.git/ORIG_HEAD; mkdir MAIN/.git/sequencer",
        "git worktree add -q -f ../fourth; git worktree remove --force ../third",
    ],
)
def test_what_a_linked_checkout_shares_stays_as_it_is(linked, command):
    shared = [linked.common / name for name in ("objects", "refs", "logs")]
    place = linked.place
    trees = (place.root / "third", place.workspace)
    before = tree_of(place.root, (*shared, linked.own / "logs", *trees[1:], place.home))
    words = {"COMMON": linked.common, "OWN": linked.own, "MAIN": linked.main}
    for word, path in words.items():
        command = command.replace(word, str(path))
    linked.run(place.open(), command)
    (place.out / "mark").unlink(missing_ok=True)
    place.close()
    after = tree_of(place.root, (*shared, linked.own / "logs", *trees[1:], place.home))
    assert after == before
    links = [path for path in place.root.rglob("*") if path.is_symlink()]
    assert not [path for path in links if path.is_relative_to(linked.main / ".git")]
    assert not (linked.common / "objects/info/alternates").exists()
    for folder in (place.workspace, linked.main):
        for words_of_git in (("status",), ("diff",), ("commit", "-qm", "x", "--allow-empty")):
            place.git("-C", str(folder), *words_of_git)
    assert not (place.out / "mark").exists()
    assert (place.workspace / ".git").is_file()


def test_an_index_of_a_linked_checkout_that_leads_out_is_refused(linked):
    place = linked.place
    command = (
        "git init -q neu; git -C neu commit -q --allow-empty -m x;"
        " git update-index --add --cacheinfo 160000,$(git -C neu rev-parse HEAD),neu"
    )
    _, changes = linked.run(place.open(), command)
    assert [line for line in changes if "index names another repository" in line], changes
    assert "neu" not in place.git("ls-files")


def test_objects_of_a_linked_checkout_are_put_back(linked):
    box = linked.place.open()
    _, changes = linked.run(box, f"rm -rf {linked.common}/objects/??")
    assert [line for line in changes if "put back: in the sandbox none goes" in line], changes
    assert linked.place.git("fsck", "--strict") == ""
    linked.place.close()
    assert not [*linked.common.glob("nanocoder*")]


def test_a_file_that_leads_to_a_repository_of_others_lets_nothing_be_written(linked):
    """As one in an archive from a stranger: no repository says that these are its files."""
    place = linked.place
    stranger = place.root / "stranger"
    shutil.copytree(place.workspace, stranger)
    if linked.own == linked.common:
        (stranger / ".git").write_text(f"gitdir: {linked.own}\n")
    place.workspace = stranger
    before = tree_of(linked.main / ".git")
    linked.run(place.open(), "echo z > file; git add file; git commit -qm x; git branch bad")
    linked.run(place.open(), f"rm -rf {linked.common}/refs/heads/* {linked.common}/objects/??")
    place.close()
    assert tree_of(linked.main / ".git") == before


def test_a_link_that_leads_to_a_repository_of_others_lets_nothing_be_written(linked):
    place = linked.place
    (place.workspace / ".git").unlink()
    (place.workspace / ".git").symlink_to(linked.common)
    before = tree_of(linked.main / ".git")
    with pytest.raises(Exception, match=r"'\.git' decides what runs and is a link"):
        linked.run(place.open(), "git commit -q --allow-empty -m x")
    assert tree_of(linked.main / ".git") == before


def test_a_repository_that_a_person_lets_be_changed_is_the_real_one(linked):
    box = linked.place.open(Settings(writable=(str(linked.common),)))
    done, changes = linked.run(box, "git config user.name b")
    assert (done.returncode, changes) == (0, []), done.stderr
    assert "name = b" in (linked.common / "config").read_text()


def test_a_repository_that_is_hidden_stays_hidden(linked):
    box = linked.place.open(Settings(hidden=(str(linked.main / ".git"),)))
    done, _ = linked.run(box, f"git log; git commit -q --allow-empty -m x; ls {linked.common}")
    assert (done.stdout, done.returncode) == ("", 2)


@pytest.mark.rows(2)
@pytest.mark.parametrize("access", Access)
def test_what_is_hidden_in_a_repository_stays_hidden(linked, access):
    key = linked.common / "keys/key"
    key.parent.mkdir()
    key.write_text(SECRET)
    box = linked.place.open(Settings(hidden=(str(key.parent),)))
    done, _ = linked.run(box, f"git log -1 --format=%s; cat {key}", access)
    assert done.stdout in ("second\n", "third\n")


@pytest.mark.parametrize("linked", ["worktree"], indirect=True)
@pytest.mark.parametrize("access", Access)
def test_a_repository_in_tmp_is_seen(linked, access, below_tmp):
    place = linked.place
    main = below_tmp / "main"
    shutil.move(linked.main, main)
    linked.main = main
    linked.in_main("worktree", "repair", str(place.workspace))
    done, changes = linked.run(place.open(), "git log -1 --format=%s", access)
    assert (done.stdout, done.stderr, changes) == ("second\n", "", [])
    assert os.listdir(main) != []
    place.close()  # it would put back objects that go with the folder


def test_the_copy_of_a_sub_agent_leaves_the_repository_of_its_parent_alone(linked):
    place = linked.place
    before = tree_of(linked.main / ".git")
    command = "git status --short -uno; git commit -q --allow-empty -m x; git branch bad"
    box = place.open(origins=(linked.main,))
    done, _ = linked.run(box, command)
    assert (done.stdout, done.returncode) == ("", 128)
    assert tree_of(linked.main / ".git") == before


def test_git_shows_nothing_of_a_secret_that_was_added_in_a_linked_checkout(linked):
    assert_nothing_is_shown(linked.place, Access.READ)
