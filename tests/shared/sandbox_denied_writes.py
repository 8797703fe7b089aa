"""Paths that a rule keeps from being changed, in each sandbox: nothing inside writes to them.

The plugin's tests have a fixture *box*, and import the fixture *repository*.
"""

import subprocess
import time

import pytest
from nanocoder_files import PathFilter, Readable
from nanocoder_kit_sandbox.sandbox_files import START_S
from sandbox_arrivals import await_path
from sandboxed_place import PYTHON, NoSecrets

BEFORE = "as it was\n"
WRITING = {
    "a shell": "echo x > deep/ledger/a",
    "an editor of streams": "sed -i s/was/is/ deep/ledger/a deep/npm.lock",
    "a program": f"{PYTHON} \"open('deep/ledger/a', 'w').write('x')\"",
    "emptying": ": > deep/npm.lock",
    "a new file": "echo x > deep/ledger/new",
    "removal": "rm -rf deep/ledger deep/npm.lock deep",
    "a renaming over it": "echo x > b; mv b deep/ledger/a; echo x > b; mv -f b deep/npm.lock",
    "its own renaming": "mv deep/npm.lock b; mv deep/ledger c; echo x > c/a; mv c deep/ledger",
    "a renaming of the folder above": "mv deep d; echo x > d/ledger/a; mv d deep",
    "another folder above": "mkdir -p d/ledger; mv -T d deep; mv --exchange d deep",
    "a second name": "ln deep/ledger/a b; echo x > b; ln deep/npm.lock c; echo x > c",
    "a link": "ln -s deep/ledger/a b; echo x > b; ln -s $PWD/deep d; echo x > d/npm.lock",
    "modes": "chmod 777 deep/ledger deep/ledger/a; echo x > deep/ledger/a",
    "another path": "echo x > /proc/self/cwd/deep/ledger/a; echo x > $PWD/deep/npm.lock",
    "mounts": "umount deep/ledger; mount -o remount,rw deep/ledger; echo x > deep/ledger/a",
    "a checkout": "git checkout -qf other",
    "a checkout of one file": "git checkout -q other -- deep",
    "a stash": "git stash -q; git stash pop -q",
    "a reset": "git reset -q --hard other",
    "a merge": "git merge -q other",
    "a patch": "git diff HEAD other | git apply",
    "git clean": "git clean -qfdx",
    "git mv": "git mv deep/ledger/a deep/b; git mv deep e",
}


@pytest.fixture
def ledger(repository):
    """Provide a repository with kept files, and another branch in which they are different."""
    folder = repository.workspace / "deep/ledger"
    folder.mkdir(parents=True)
    repository.git("checkout", "-qb", "other")
    for content in ("of the other\n", BEFORE):
        for file in (folder / "a", folder.parent / "npm.lock"):
            file.write_text(content)
        repository.git("add", "deep")
        repository.git("commit", "-qm", content)
        repository.git("checkout", "-qB", "work")
    repository.git("branch", "-f", "other", "HEAD~1")
    return repository


def contents(place):
    folder = place.workspace / "deep"
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.rows(6)
@pytest.mark.parametrize("way", WRITING)
def test_no_command_writes_what_a_rule_keeps(ledger, way):
    kept = {"ledger/a": BEFORE, "npm.lock": BEFORE}
    ledger.run(WRITING[way])
    ledger.close()
    assert contents(ledger).items() >= kept.items()
    assert [path for path in contents(ledger) if path.startswith("ledger/")] == ["ledger/a"]


@pytest.mark.rows(2)
@pytest.mark.parametrize("way", ["a shell", "a new file", "emptying", "removal"])
def test_each_way_to_write_works_without_a_sandbox(ledger, way):
    before = contents(ledger)
    ledger.start(["/bin/bash", "-c", WRITING[way]])
    assert contents(ledger) != before


def test_what_surrounds_a_kept_path_can_be_written(ledger):
    done = ledger.run("echo y > deep/b && mkdir deep/c && mv deep/b deep/c/b && cat deep/ledger/a")
    assert (done.returncode, done.stdout) == (0, BEFORE)
    assert contents(ledger)["c/b"] == "y\n"


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("command", "name", "fresh"),
    [
        ("mkdir ledger; echo x > ledger/a", "ledger", "from-sandbox-ledger"),
        ("echo x > new.lock", "new.lock", "from-sandbox-new_lock"),
        ("mkdir -p d/e; echo x > d/e/ledger", "d/e/ledger", "d/e/from-sandbox-ledger"),
        ("mkdir t; ln -s t ledger; echo x > ledger/a", "ledger", "from-sandbox-ledger"),
    ],
)
def test_what_is_made_under_a_kept_name_is_moved_away(ledger, command, name, fresh):
    box = ledger.open()
    ledger.start(box.wrap(["/bin/bash", "-c", command], ()))
    assert box.changes() == [
        f"{name} was made in the sandbox and is now {fresh}: a rule forbids it"
    ]
    assert not (ledger.workspace / name).exists()


def test_what_the_person_makes_under_a_kept_name_stays(ledger):
    box = ledger.open()
    ledger.start(box.wrap(["/bin/true"], ()))
    time.sleep(START_S)  # until then a process could start inside
    assert box.changes() == []
    (ledger.workspace / "of-person.lock").write_text(BEFORE)
    ledger.start(box.wrap(["/bin/sh", "-c", "echo x > of-person.lock"], ()))
    assert box.changes() == []
    assert (ledger.workspace / "of-person.lock").read_text() == BEFORE


class Changing(Readable):
    """Filters that change as rules do that are about one mode."""

    latest = Readable()

    def now(self):
        """Return the filters of the mode."""
        return self.latest


def test_files_stay_when_a_rule_about_them_begins_to_hold_while_something_runs(ledger):
    readable = Changing()
    box = ledger.open(readable=readable)
    argv = box.wrap(["/bin/sh", "-c", "touch ready; read -r end"], ())
    with subprocess.Popen(argv, cwd=ledger.workspace, stdin=subprocess.PIPE) as running:
        await_path(ledger.workspace / "ready")
        readable.latest = Readable([("rules", NoSecrets())])
        assert box.changes() == []
        ledger.start(box.wrap(["/bin/sh", "-c", "echo x > new.lock"], ()))
        assert [line.split()[0] for line in box.changes()] == ["new.lock"]
        running.communicate()
    assert contents(ledger) == {"ledger/a": BEFORE, "npm.lock": BEFORE}


def test_a_link_with_a_kept_name_keeps_what_it_leads_to(ledger):
    (ledger.workspace / "books").mkdir()
    (ledger.workspace / "books/a").write_text(BEFORE)
    (ledger.workspace / "ledger").symlink_to("books")
    ledger.run("echo x > ledger/a; echo x > books/a; rm -r books; true")
    assert (ledger.workspace / "books/a").read_text() == BEFORE


class Pages(PathFilter):
    """Keeps `conf/*.csv` and `conf/sub/*.csv` as they are, and what is called `conf` not."""

    def read_only(self, folder, names):
        """Keep the files by their folder."""
        kept = names if folder in {"conf", "conf/sub"} else ()
        return {name: "a rule forbids it" for name in kept if name.endswith(".csv")}


@pytest.fixture
def conf(repository):
    """Provide a workspace with tables that only links give a name which a rule is about."""
    for folder in ("data", "data/deep", "other"):
        (repository.workspace / folder).mkdir()
        (repository.workspace / folder / "a.csv").write_text(BEFORE)
    (repository.workspace / "conf").symlink_to("linked")
    (repository.workspace / "linked").symlink_to("data")
    (repository.workspace / "data/sub").symlink_to("../other")
    (repository.workspace / "data/up").symlink_to("..")
    return repository


@pytest.mark.rows(3)
@pytest.mark.parametrize("path", ["conf/a.csv", "data/a.csv", "conf/sub/a.csv", "other/a.csv"])
def test_a_rule_holds_for_files_behind_a_link_to_a_folder(conf, path):
    box = conf.open(readable=Readable([("rules", Pages())]))
    writing = f"echo x > {path}; echo x > data/deep/a.csv; echo x > data/b"
    conf.start(box.wrap(["/bin/sh", "-c", writing], ()))
    assert box.changes() == []
    assert (conf.workspace / path).read_text() == BEFORE
    assert (conf.workspace / "data/deep/a.csv").read_text() == "x\n"
    assert (conf.workspace / "data/b").exists()


def test_a_new_file_behind_a_link_is_moved_away(conf):
    box = conf.open(readable=Readable([("rules", Pages())]))
    conf.start(box.wrap(["/bin/sh", "-c", "echo x > conf/new.csv"], ()))
    made = "data/new.csv was made in the sandbox and is now data/from-sandbox-new_csv"
    assert box.changes() == [f"{made}: a rule forbids it"]


def test_a_link_that_a_command_makes_moves_no_file_away(conf):
    (conf.workspace / "conf").unlink()
    box = conf.open(readable=Readable([("rules", Pages())]))
    conf.start(box.wrap(["/bin/sh", "-c", "ln -s data conf"], ()))
    assert box.changes() == []
    assert (conf.workspace / "data/a.csv").read_text() == BEFORE


def test_many_kept_files_are_kept_together(ledger):
    for number in range(300):
        (ledger.workspace / f"deep/{number}.lock").write_text(BEFORE)
    done = ledger.run("cd deep; for f in *.lock; do echo x > $f; done; echo y > ../outer")
    assert done.returncode == 0
    assert set(contents(ledger).values()) == {BEFORE}
    assert (ledger.workspace / "outer").read_text() == "y\n"
