"""The repository of contents: any path and any bytes come back, sessions go one by one."""

import json
import os
import subprocess
import time

import pytest
from nanocoder_kit_sessions.snapshots import (
    CommandEntry,
    GitStore,
    SnapshotError,
    append_entry,
    blob_of,
    read_entries,
)
from nanocoder_kit_sessions.snapshots.git_store import FEW


@pytest.mark.parametrize(
    "path", ["a", 'with "quotes"', "a\\nb", "ä/ö", "\\xff", "-a", "a:b", "git~1", "CON", "a\tb"]
)
def test_contents_of_any_name_come_back(tmp_path, path):
    store = GitStore(tmp_path, tmp_path / "work")
    contents = [b"", b"\0\r\n", b"done\n"]
    store.open("s1")
    for content in contents:
        store.keep("s1", [(path, content)])
    assert [store.read(blob_of(content)) for content in contents] == contents


def test_a_folder_takes_the_place_of_a_file_and_back(tmp_path):
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("s1")
    store.keep("s1", [("a", b"file")])
    store.keep("s1", [("a/b", b"below"), ("a", None)])
    store.keep("s1", [("a", b"again"), ("a/b", None)])
    assert store.read(blob_of(b"below")) == b"below"


def test_a_session_that_goes_takes_its_contents_along_and_leaves_those_of_others(tmp_path):
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("s1")
    store.keep("s1", [("a", b"shared")])
    assert not store.open("s3", "unknown")
    assert store.open("s2", "s1")
    store.keep("s1", [("a", b"mine")])
    store.forget("s1")
    assert store.read(blob_of(b"shared")) == b"shared"
    with pytest.raises(SnapshotError):
        store.read(blob_of(b"mine"))
    store.forget("s2")
    with pytest.raises(SnapshotError, match="no longer kept"):
        store.read(blob_of(b"shared"))


def git(store, *words):
    command = ["git", "--git-dir", str(store.folder / "contents.git"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_what_is_written_without_git_is_sound_and_stays_when_git_collects_garbage(tmp_path):
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("s1")
    many = [(f"{number}", b"%d" % number) for number in range(FEW)]
    for contents in ([("a", b"first")], many, [("a", b"second"), ("1", None)]):
        store.keep("s1", contents)
        checked = git(store, "fsck", "--strict", "--full")
        assert not checked.stdout
        assert {line.split()[0] for line in checked.stderr.splitlines()} <= {"notice:"}
        git(store, "gc", "--prune=now", "--quiet")
    assert store.open("s2", "s1")
    store.forget("s1")
    for content in (b"first", b"7", b"second"):
        assert store.read(blob_of(content)) == content


def test_a_few_contents_need_no_process(tmp_path, monkeypatch):
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("s1")
    monkeypatch.setattr(subprocess, "Popen", None)
    store.keep("s1", [("a", b"1"), ("b", b"2")])
    store.keep("s1", [("a", None)])
    monkeypatch.undo()
    assert store.read(blob_of(b"2")) == b"2"


def test_a_writer_that_was_killed_does_not_stop_the_next_one(tmp_path):
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("s1")
    repository = store.folder / "contents.git"
    (repository / "objects" / f"tmp_obj_{blob_of(b'1')}").write_bytes(b"torn and longer than it is")
    (repository / "tmp_ref").write_bytes(b"torn and longer than a name of a commit, which has 40")
    store.keep("s1", [("a", b"1")])
    assert GitStore(tmp_path, tmp_path / "work").open("s1")
    assert store.read(blob_of(b"1")) == b"1"


def test_a_session_whose_snapshots_were_removed_meanwhile_says_so(tmp_path):
    store = GitStore(tmp_path, tmp_path / "work")
    for session in ("s1", "s2"):
        store.open(session)
        store.keep(session, [("a", session.encode())])
    GitStore(tmp_path, tmp_path / "work").forget("s1")
    with pytest.raises(SnapshotError, match="were removed meanwhile"):
        store.keep("s1", [("a", b"2")])
    GitStore(tmp_path, tmp_path / "work").forget("s2")
    with pytest.raises(SnapshotError):
        store.keep("s2", [("a", b"2")])


def test_beyond_the_limit_the_oldest_sessions_go(tmp_path):
    import os

    store = GitStore(tmp_path, tmp_path / "work")
    for session in ("s1", "s2"):
        store.open(session)
        store.keep(session, [("a", os.urandom(100_000))])
    store.shrink(10_000_000, besides="s2")
    assert store.open("s1")
    store.shrink(50_000, besides="s2")
    other = GitStore(tmp_path, tmp_path / "work")
    assert not other.open("s1")
    assert other.open("s2")


@pytest.mark.parametrize("name", ["", "../x", "a b", "-d", "refs/heads/x"])
def test_what_is_no_name_of_a_session_is_refused(tmp_path, name):
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("s1")
    with pytest.raises(SnapshotError, match="not the name of a session"):
        store.keep(name, [("a", b"a")])
    with pytest.raises(SnapshotError, match="no longer kept"):
        store.read(name)


def test_damaged_lines_of_the_log_are_left_out(tmp_path):
    folder = {"kind": "directory", "mode": 0o755}
    change = {"path": "a", "target": "", "before": {"kind": "nothing"}, "after": folder, "blob": ""}
    data = {"at": 1.5, "root": "/w", "calls": ["c1"], "ended": ["c1"], "problem": ""}
    entry = CommandEntry.of_data(1, {**data, "changes": [change]})
    append_entry(tmp_path / "s", entry)
    with (tmp_path / "s/commands.jsonl").open("a") as file:
        file.write('{"at": 1}\n[]\nnull\n{"at": "x"}\n{torn\n')
    append_entry(tmp_path / "s", entry)
    entries = read_entries(tmp_path / "s")
    assert [entry.number for entry in entries] == [1, 7]
    assert json.loads(entries[0].line()) == json.loads(entry.line())
    assert read_entries(tmp_path / "none") == read_entries(None) == []


@pytest.mark.parametrize("count", [1, 200])
def test_the_oldest_session_goes_first_though_the_clock_was_set_back(tmp_path, monkeypatch, count):
    really = time.time
    for name, days in [("first", 9), ("second", 0)]:
        monkeypatch.setattr(time, "time", lambda days=days: really() + days * 86_400)
        store = GitStore(tmp_path, tmp_path / "work")
        store.open(name)
        store.keep(name, [(f"{number}", os.urandom(500)) for number in range(count)])
    monkeypatch.undo()
    store = GitStore(tmp_path, tmp_path / "work")
    store.open("third", "second")
    store.shrink(1, besides="second")
    assert store.open("second")
    assert not GitStore(tmp_path, tmp_path / "work").open("first")
    names = git(store, "for-each-ref", "--format=%(refname:lstrip=2)").stdout.split()
    assert "first" not in names
