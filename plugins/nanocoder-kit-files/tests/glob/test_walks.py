"""Walks through a tree: their order, and what they leave out."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from nanocoder import PathFilter, Readable, Workspace, WorkspaceError
from nanocoder_kit_files.glob.left_out import LeftOut
from nanocoder_kit_files.glob.walks import Sieve, walk_files, walk_tree


@pytest.fixture
def ground(tmp_path):
    (tmp_path / "ws").mkdir()
    with Workspace(tmp_path / "ws") as workspace:
        yield workspace, tmp_path / "ws"


def make(folder, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")


def walk(workspace, path=".", *, details=True, **options):
    return walk_tree(workspace, path, Sieve(**options), details=details)


def files(workspace, path=".", **options):
    return walk_files(workspace, path, Sieve(**options))


def test_the_walk_is_sorted_and_goes_through_no_link(ground):
    workspace, ws = ground
    make(ws, "b", "a/y", "a/x", "c/z", ".git/config", "a/.git/config", ".hidden/h", ".dot")
    (ws / "a/up").symlink_to("..")
    (ws / "out").symlink_to(ws.parent)
    walked = [entry.path for entry in walk(workspace)]
    assert walked == [
        ".dot", ".hidden", ".hidden/h", "a", "a/up", "a/x", "a/y", "b", "c", "c/z", "out",
    ]  # fmt: skip
    assert [entry.path for entry in walk(workspace, "a")] == ["a/up", "a/x", "a/y"]
    assert [entry.path for entry in walk(workspace, "a/up/c")] == ["c/z"]
    skip = {"a", "out", ".hidden"}
    shorter = walk(workspace, skip=skip, details=False)
    assert [(entry.path, entry.size) for entry in shorter] == [
        (".dot", 0), ("b", 0), ("c", 0), ("c/z", 0), ("out", 0),
    ]  # fmt: skip


def test_files_come_with_their_directory_in_the_order_of_the_walk(ground):
    workspace, ws = ground
    make(ws, "b", "a/y", "a/m/x", "a/b", "skip/z", ".git/config", os.fsdecode(b"o\xff/n\xff"))
    make(ws, "x.log", "a/m/keep.log")
    (ws / "link").symlink_to("b")
    os.mkfifo(ws / "pipe")
    os.utime(ws / os.fsdecode(b"o\xff/n\xff"), (7, 7))
    asked = []

    def rules(folder, names, folders):
        asked.append((folder, *folders))
        return [name for name in names if name.endswith(".log") and folder != "a/m"]

    batches = files(workspace, skip={"skip"}, rules=rules)
    assert [(batch.folder, batch.names) for batch in batches] == [
        ("a", ["b"]), ("a/m", ["keep.log", "x"]), ("a", ["y"]), ("", ["b"]),
        ("o\\xff", ["n\\xff"]),
    ]  # fmt: skip
    assert asked == [(".", "a", "o\\xff", "skip"), ("a", "m"), ("a/m",), ("o\\xff",)]
    walked = [
        entry.path for entry in walk(workspace, skip={"skip"}, rules=lambda *_: ["a", "pipe"])
    ]
    assert walked == ["b", "link", "o\\xff", "o\\xff/n\\xff", "x.log"]
    assert [(batch.folder, batch.names) for batch in files(workspace, "a", depth=1)] == [
        ("a", ["b"]), ("a", ["y"]),
    ]  # fmt: skip
    (odd,) = files(workspace, "o\\xff")
    assert odd.path("n\\xff") == "o\\xff/n\\xff"
    assert odd.mtimes(["n\\xff", "gone"]) == [7.0, 0.0]
    with pytest.raises(WorkspaceError):
        list(files(workspace, "b"))


# FS-025
def test_a_tree_of_two_thousand_levels_is_walked(ground):
    workspace, ws = ground
    fd = os.open(ws, os.O_RDONLY)
    for _ in range(1900):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    try:
        assert sum(1 for _ in walk(workspace, details=False)) == 1900
        assert not list(files(workspace))
    finally:
        # What pytest would clean up with recurses too deep.
        subprocess.run(["rm", "-rf", str(ws)], check=True)


def test_a_walk_stops_at_the_depth_it_is_given(ground):
    workspace, ws = ground
    make(ws, "a/b/c/d", "e")
    assert [entry.path for entry in walk(workspace, depth=1)] == ["a", "e"]
    assert [entry.path for entry in walk(workspace, "a", depth=2)] == ["a/b", "a/b/c"]


class Payroll(PathFilter):
    """Nobody reads what is called payroll; somebody has to agree to what is called private."""

    def refuses(self, path):
        return "payroll is confidential" if path.rpartition("/")[2] == "payroll" else ""

    def asks(self, path):
        return "ask the owner" if path.rpartition("/")[2] == "private" else ""


class Broken(PathFilter):
    """Raises for everything."""

    def refuses(self, path):
        raise RuntimeError("boom")

    def suspects(self, folder, names):
        raise RuntimeError("boom")


@pytest.fixture
def root(tmp_path):
    make(tmp_path, "a", "payroll/2026/sum", "private/b", "deep/payroll", "deep/c")
    (tmp_path / "link").symlink_to("payroll/2026/sum")
    return tmp_path


@pytest.fixture
def workspace(root):
    readable = Readable([("acme", Payroll())])
    with Workspace(root, readable=readable) as workspace:
        yield workspace


def test_a_walk_leaves_out_what_policies_refuse_and_counts_it(workspace):
    left_out = LeftOut()
    walked = {entry.path for entry in walk(workspace, left_out=left_out)}
    assert walked == {"a", "deep", "deep/c", "link"}
    batches = files(workspace)
    assert {batch.path(name) for batch in batches for name in batch.names} == {"a", "deep/c"}
    assert (len({*left_out.files}), len({*left_out.folders})) == (1, 2)


@pytest.mark.parametrize("start", ["payroll", "payroll/2026"])
@pytest.mark.parametrize("listing", [walk, files])
def test_no_walk_starts_where_nobody_may_read(workspace, start, listing):
    with pytest.raises(WorkspaceError) as caught:
        list(listing(workspace, start))
    assert caught.value.error_class == "read_denied"


def test_what_a_person_has_to_agree_to_is_found_only_where_a_walk_starts_there(workspace):
    assert [entry.path for entry in walk(workspace, "private")] == ["private/b"]


def test_a_filter_that_breaks_leaves_everything_out_of_a_walk(root):
    with Workspace(root, readable=Readable([("broken", Broken())])) as workspace:
        assert list(walk(workspace)) == []


def test_a_walk_that_is_left_in_the_middle_keeps_nothing_open(ground):
    workspace, ws = ground
    make(ws, "a/b/c/d", "e")
    before = len(os.listdir("/dev/fd"))
    for listing in (walk(workspace), files(workspace)):
        next(listing)
        listing.close()
        assert len(os.listdir("/dev/fd")) == before


# FS-009
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_that_may_not_be_read_is_listed_with_its_problem():
    code = """
import os, sys
from pathlib import Path
from nanocoder import Workspace
from nanocoder_kit_files.glob.left_out import LeftOut
from nanocoder_kit_files.glob.walks import Sieve, walk_files, walk_tree

workspace = Workspace(Path(sys.argv[1]))
workspace.read_text("ok")  # loads what has to be loaded
left_out = LeftOut()
os.setgid(65534)
os.setuid(65534)
print([(entry.name, bool(entry.problem)) for entry in walk_tree(workspace, ".", Sieve())])
print([files.names for files in walk_files(workspace, ".", Sieve(left_out=left_out))])
print(left_out.unreadable)
"""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        (top / "ok").write_text("a")
        (top / "d").mkdir(mode=0)
        command = [sys.executable, "-c", code, name]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert answer.splitlines() == ["[('d', True), ('ok', False)]", "[['ok']]", "['d']"]


@pytest.mark.parametrize("name", [".GIT", "git~1", ".git. .", ".git:x", ".g\u200cit", ".gi\u200bt"])
def test_a_walk_leaves_out_what_some_file_system_takes_for_gits_folder(ground, name):
    workspace, ws = ground
    make(ws, "a", "legit/x", f"{name}/config")
    assert [entry.path for entry in walk(workspace)] == ["a", "legit", "legit/x"]
