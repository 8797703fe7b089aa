"""What comes out of a sandbox, an index or a repository, and what git does by it."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest
from nanocoder_kit_process.git import (
    find_repository,
    problem_of_index,
    reason_not_harmless,
    reason_not_plain,
)

PEOPLE = ("-c", "user.name=a", "-c", "user.email=a@example.org")
BLOB = bytes.fromhex("5ab2f8a4323abafb10abb68657d9d39f1a775057")
FILE, LINK, REPOSITORY, FOLDER = 0o100644, 0o120000, 0o160000, 0o040000


def run(top: Path, *words: str) -> str:
    """Run git as a person does."""
    env = {"PATH": os.environ["PATH"], "HOME": str(top.parent)}
    done = subprocess.run(
        ["git", *PEOPLE, *words], cwd=top, env=env, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.fixture
def top(tmp_path):
    folder = tmp_path / "ws"
    folder.mkdir()
    run(folder, "init", "-q")
    (folder / "file").write_text("hello")
    run(folder, "add", "file")
    run(folder, "commit", "-qm", "first")
    return folder


def entry_of(version, mode, name, earlier=b""):
    fields = struct.pack(">24xI12x20sH", mode, BLOB, min(len(name), 0xFFF))
    if version == 4:
        return fields + bytes([len(earlier)]) + name + b"\0"
    content = fields + name
    return content + b"\0" * (8 - len(content) % 8)


def index_of(version, *entries, extensions=b""):
    content, earlier = struct.pack(">4sII", b"DIRC", version, len(entries)), b""
    for mode, name in entries:
        content += entry_of(version, mode, name, earlier)
        earlier = name
    return content + extensions + bytes(20)


def problem(*entries, version=2, own=b"", extensions=b""):
    return problem_of_index(
        index_of(version, *entries, extensions=extensions), own, lambda _: False
    )


NAMES = (
    *(b"../escaped", b"a/../../b", b"./a", b"a/./b", b"/absolute", b"a//b", b"a/", b"", b"..\\a"),
    *(b"C:\\a", b"a\0b", b".git/hooks/post-checkout", b"sub/.GIT/config", b"git~1/config"),
    *(".g\u200cit/config".encode(), b".git ./x", b".git::$INDEX_ALLOCATION/x"),
)


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_an_index_names_no_file_outside_of_the_checkout(version, name):
    assert "names a file" in problem((FILE, b"a"), (FILE, name), version=version)
    assert problem((FILE, b"a"), (FILE, b"b/c"), (LINK, b"b/d"), version=version) == ""


def test_git_writes_to_a_place_that_is_refused(top):
    """Git does not look at the paths of an index that it reads."""
    blob = bytes.fromhex(run(top, "hash-object", "-w", "file").strip())
    content = index_of(2, (FILE, b"../escaped")).replace(BLOB, blob)[:-20]
    (top / ".git/index").write_bytes(content + hashlib.sha1(content).digest())
    run(top, "checkout", ".")
    assert (top.parent / "escaped").read_text() == "hello"


def test_a_protected_name_has_to_be_there_already():
    new = (FILE, b"sub/.vscode/tasks.json")
    content = index_of(2, new)
    assert "a protected file" in problem(new)
    assert problem(new, own=content) == ""
    assert problem_of_index(content, b"", lambda entry: entry.blob == BLOB) == ""


def test_a_file_does_not_become_another_repository():
    assert "another repository" in problem((REPOSITORY, b"a"), own=index_of(2, (FILE, b"a")))
    assert problem((REPOSITORY, b"a"), own=index_of(2, (REPOSITORY, b"a"))) == ""


def test_an_index_hides_nothing():
    assert "hides" in problem((FOLDER, b"dir/"))
    assert problem((FOLDER, b"dir/"), own=index_of(2, (FOLDER, b"dir/"))) == ""
    link = struct.pack(">4sI", b"link", 20) + bytes(20)
    assert "is split" in problem((FILE, b"a"), extensions=link)
    elsewhere = struct.pack(">4sII", b"EOIE", 24, 12) + bytes(20)
    assert problem((FILE, b"a"), extensions=elsewhere)
    assert problem((FILE, b"a"), extensions=struct.pack(">4sI", b"TREE", 900))


@pytest.mark.parametrize("settings", [(), ("index.version=4",), ("index.sparse=true",)])
def test_an_index_that_git_makes_is_fine(top, settings):
    options = [word for each in settings for word in ("-c", each)]
    (top / "dir").mkdir()
    (top / "dir/more").write_text("x")
    run(top, *options, "add", "-N", ".")
    run(top, *options, "add", ".")
    content = (top / ".git/index").read_bytes()
    assert b"more" in content
    assert problem_of_index(content, b"", lambda _: False) == ""


def test_a_split_index_is_refused(top):
    run(top, "update-index", "--split-index")
    assert "split" in problem_of_index((top / ".git/index").read_bytes(), b"", lambda _: False)


def test_a_new_repository_is_harmless(top):
    assert reason_not_harmless(top) is None


def hook(top):
    (top / ".git/hooks").mkdir(exist_ok=True)
    (top / ".git/hooks/post-checkout").write_text("#!/bin/sh\n")


def setting(top):
    run(top, "config", "core.hooksPath", "evil")


def forgiving(top):
    run(top, "config", "core.protectHFS", "false")


def rebase(top):
    (top / ".git/rebase-merge").mkdir()


def legacy_remote(top):
    (top / ".git/branches").mkdir(exist_ok=True)
    (top / ".git/branches/origin").write_text("ext::sh")


def link(top):
    (top / ".git/refs/heads/x").symlink_to("/etc/passwd")


def alternates(top):
    (top / ".git/objects/info").mkdir(exist_ok=True)
    (top / ".git/objects/info/alternates").write_text("/elsewhere")


def commondir(top):
    (top / ".git/commondir").write_text("../.git")


def modules(top):
    (top / ".git/modules").mkdir()


def worktree(top):
    run(top, "worktree", "add", "-q", "../other")


def moved(top):
    (top / ".git").rename(top / "store")
    (top / ".git").write_text("gitdir: store\n")


def escaping_index(top):
    (top / ".git/index").write_bytes(index_of(2, (FILE, b"../escaped")))


HARMFUL = (
    *(hook, setting, forgiving, rebase, legacy_remote, link, alternates, commondir, modules),
    *(worktree, moved, escaping_index),
)


@pytest.mark.parametrize("change", HARMFUL)
def test_what_any_command_acts_by_is_not_harmless(top, change):
    change(top)
    assert reason_not_harmless(top)


def scattered(top, mark, head="ref: refs/heads/main\n"):
    """Make a repository of files that a clone brings: what it shares is in another folder."""
    inner, store = top / "docs/x", top / "docs/store"
    for folder in (inner / "sub", store / "objects", store / "refs"):
        folder.mkdir(parents=True)
    (inner / "HEAD").write_text(head)
    (inner / "commondir").write_text("../store\n")
    (inner / "config.worktree").write_text("[core]\nbare = false\nworktree = .\n")
    (store / "config").write_text(
        "[core]\nrepositoryformatversion = 1\n"
        f'fsmonitor = "touch {mark};false"\n[extensions]\nworktreeConfig = true\n'
    )


def test_a_repository_whose_shared_files_are_elsewhere_is_seen(top, tmp_path):
    mark = tmp_path / "mark"
    scattered(top, mark)
    for folder in ("docs/x", "docs/x/sub"):
        assert "bare repository" in (reason_not_plain(top / folder) or "")
    assert reason_not_plain(top / "docs") is None
    assert reason_not_plain(top) is None
    run(top, "-C", "docs/x", "status")
    assert mark.exists()  # the case is real


@pytest.mark.parametrize("other", ["config", "config.worktree", "objects", "refs", "gitdir"])
def test_a_head_beside_any_part_of_a_repository_counts(top, other):
    inner = top / "inner"
    inner.mkdir()
    (inner / "HEAD").symlink_to("refs/heads/none")
    assert reason_not_plain(inner) is None
    (inner / other).touch()
    assert reason_not_plain(inner)
    (inner / "HEAD").unlink()
    (inner / "HEAD").mkdir()
    assert reason_not_plain(inner) is None


def test_a_git_folder_shares_nothing_with_another(top):
    commondir(top)
    assert "commondir" in (reason_not_plain(top) or "")


def test_a_nul_in_a_path_ends_it(top):
    (top / "store").mkdir()
    (top / ".git").rename(top / "good")
    (top / ".git").write_bytes(b"gitdir: good\0x\n")
    place = find_repository(top)
    assert place is not None
    assert place.own == str(top / "good")


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_COMMON_DIR", "GIT_INDEX_FILE"])
def test_a_variable_that_leads_elsewhere_is_a_reason(top, monkeypatch, name):
    monkeypatch.setenv(name, "elsewhere")
    assert name in (reason_not_plain(top) or "")
