import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import Workspace, unescape_path
from nanocoder_kit_files.glob.git_ignore import GitIgnore, list_files, walk
from nanocoder_kit_files.glob.left_out import LeftOut, left_out_note
from nanocoder_kit_files.glob.walks import Sieve, walk_tree

# What the tree holds while patterns change: short names, so that patterns hit them.
FILES = (
    "a", "b.o", "ab", "a.b", "foo", "foobar", "xfoo", "#a", "!a", "a ", "a\\", "[a]", "*", "?",
    "d/a", "d/b.o", "d/ab", "d/foo", "d/bar/a", "d/bar/b.o", "d/bar/foo/a", "foo_/bar", "e/foo/a",
    "e/foo/bar", "e/d/a", "e/d/bar/a", "é", "d/é", "A", "1", "z-a", "b]", "x^", "a\tb",
)  # fmt: skip
FOLDERS = ("d", "d/bar", "e", "e/foo", "e/d")


def git(top: Path, *words: str, data: bytes = b"") -> bytes:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(top.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
    }
    process = subprocess.run(
        ["git", "-C", str(top), *words],
        input=data,
        capture_output=True,
        env=environment,
        check=False,
    )
    assert process.returncode in {0, 1}, process.stderr
    return process.stdout


def as_git_sees_it(top: Path, paths: list[str]) -> set[str]:
    question = b"\0".join(os.fsencode(path) for path in paths)
    answer = git(top, "check-ignore", "--no-index", "-z", "--stdin", data=question)
    return {os.fsdecode(path) for path in answer.split(b"\0") if path}


def by_folder(workspace: Workspace) -> list[str]:
    return [files.path(name) for files in list_files(workspace) for name in files.names]


def one_by_one(workspace: Workspace) -> list[str]:
    return [entry.path for entry in walk(workspace) if entry.kind == "file"]


def make_tree(top: Path) -> list[str]:
    for name in FILES:
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    git(top, "init", "-q", ".")
    return [*FILES, *FOLDERS, "e/new/deep"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    top = tmp_path_factory.mktemp("ignore") / "ws"
    top.mkdir()
    return top, make_tree(top)


PATTERNS = st.one_of(
    st.text("ab*?/[]!-^\\.od #é1A:", min_size=1, max_size=9),
    st.lists(
        st.sampled_from(
            ["*", "**", "?", "a", "b", "foo", "bar", "d", "e", ".o", "/", "/", "[a-f]", "[!a]",
             "[[:alpha:]]", "[]a]", "[^/]", "\\*", "\\ ", " ", "!", "#", "**/", "/**", "é"]
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
)  # fmt: skip
LINES = st.lists(PATTERNS, min_size=1, max_size=5)


@pytest.mark.timeout(120)
@given(top_lines=LINES, nested=LINES, excluded=st.lists(PATTERNS, max_size=2))
def test_ignores_exactly_what_git_ignores(tree, top_lines, nested, excluded):
    top, paths = tree
    (top / ".gitignore").write_text("\n".join(top_lines))
    (top / "d/.gitignore").write_text("\n".join(nested) + "\n")
    (top / ".git/info/exclude").write_text("\n".join(excluded))
    with Workspace(top) as workspace:
        ours = {path for path in paths if GitIgnore(workspace).ignores(path)}
        assert by_folder(workspace) == one_by_one(workspace)
    assert ours == as_git_sees_it(top, paths)


HARD = (
    "foo**/bar", "foo**bar", "**foo", "foo**", "**/foo", "d/**", "d/**/a", "**/d/**/a", "d/**/",
    "/**", "**", "*", "/*", "/a", "a/", "d/", "/d/bar", "d/bar/", "*/a", "d/*", "d/*/a", "\\#a",
    "\\!a", "#a", "a\\ ", "a ", "a\\", "a\\\\", "\\a", "[a]", "\\[a]", "\\*", "\\?", "[!a]",
    "[^a]", "[]]", "b[]]", "[a-z]", "[z-a]", "[a-]", "[-a]", "[a", "[[:alpha:]]", "[[:nope:]]",
    "[[:alpha:]", "[[:digit:]a]", "é", "?", "??", "d/?", "[é]", "*.o", "*.b", "a*b", "*a*b*",
    "//a", "d//a", "/", "!", "!a", "", "a\r", "\ta", "a\t", "d/**/**/a", "**/**/a", "d**/a",
    "e/**/foo/**/a", "**\\/a", "x^", "x[\\^]", "***", "d/***", "d/***/a", "*\n!d\n!a",
    "*\n!/d/\n!d/a", "d\n!d/a", "d/*\n!d/a", "foo\n!foo\nfoo", "\ufeffa", "a\nb.o\r\nd/bar/\r\n",
)  # fmt: skip


@pytest.mark.timeout(60)
def test_agrees_with_git_on_the_hard_cases(tree):
    top, paths = tree
    (top / "d/.gitignore").write_text("!b.o\nbar/b.o\n")
    (top / ".git/info/exclude").write_text("A\n!foo\n")
    for number, pattern in enumerate(HARD):
        (top / ".gitignore").write_bytes(pattern.encode())
        os.utime(top / ".gitignore", (number, number))
        with Workspace(top) as workspace:
            ours = {path for path in paths if GitIgnore(workspace).ignores(path)}
            assert by_folder(workspace) == one_by_one(workspace), pattern
        assert ours == as_git_sees_it(top, paths), pattern


def test_the_walk_leaves_out_what_git_leaves_out(tree):
    top, _ = tree
    (top / ".gitignore").write_text("*.o\nfoo\n!d/foo\n")
    (top / "d/.gitignore").write_text("!b.o\nbar/\n")
    (top / ".git/info/exclude").write_text("z-a\n")
    with Workspace(top) as workspace:
        walked = one_by_one(workspace)
        assert by_folder(workspace) == walked
    answer = git(top, "ls-files", "-z", "--others", "--exclude-standard")
    assert sorted(map(unescape_path, walked)) == sorted(os.fsdecode(answer).split("\0")[:-1])
    assert "d/foo" in walked
    assert "foo" not in walked


def test_what_is_ignored_is_left_out(tmp_path):
    for path in ("keep.py", "x.log", "build/out", "sub/keep.log", "sub/deep/x.log"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n")
    (tmp_path / "sub/.gitignore").write_text("!keep.log\n")
    with Workspace(tmp_path) as workspace:
        walked = [entry.path for entry in walk(workspace) if entry.kind == "file"]
        assert walked == [".gitignore", "keep.py", "sub/.gitignore", "sub/keep.log"]
        assert [entry.path for entry in walk(workspace, "sub/deep")] == []
        assert len([e for e in walk_tree(workspace, ".", Sieve()) if e.kind == "file"]) == 7
        assert GitIgnore(workspace).ignores("build/not/there")
        assert not GitIgnore(workspace).ignores(".")


def test_of_rules_without_end_the_first_count_and_the_walk_says_so(tmp_path):
    lines = [f"*a*b*{number}*c*d*e*" for number in range(8_000)]
    (tmp_path / ".gitignore").write_text("\n".join(["*.log", *lines, "last-*"]) + "\n")
    for name in ("x.log", "last-one", "a"):
        (tmp_path / name).write_text("")
    left_out = LeftOut()
    with Workspace(tmp_path) as workspace:
        files = [name for files in list_files(workspace, left_out=left_out) for name in files.names]
    assert sorted(files) == [".gitignore", "a", "last-one"]
    assert left_out_note(left_out) == "[.gitignore is too long: only its first patterns count]"


def test_ten_thousand_plain_names_all_count(tmp_path):
    lines = [f"name-{number}" for number in range(9_000)]
    (tmp_path / ".gitignore").write_text("\n".join([*lines, "!name-7", "/top", "folder/"]) + "\n")
    for name in ("name-7", "name-8999", "top", "folder"):
        (tmp_path / name).write_text("")
    left_out = LeftOut()
    with Workspace(tmp_path) as workspace:
        files = [name for files in list_files(workspace, left_out=left_out) for name in files.names]
    assert sorted(files) == [".gitignore", "folder", "name-7"]
    assert left_out_note(left_out) == ""


def test_rules_are_read_again_when_they_change(tree):
    top, _ = tree
    (top / ".gitignore").write_text("foo\n")
    with Workspace(top) as workspace:
        assert GitIgnore(workspace).ignores("foo")
        (top / ".gitignore").write_text("nothing\n")
        assert not GitIgnore(workspace).ignores("foo")


def test_an_ignore_file_that_is_a_link_counts_for_nothing(tmp_path):
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    git(tmp_path, "init", "-q", ".")
    with Workspace(tmp_path) as workspace:
        assert not GitIgnore(workspace).ignores("a")
    assert as_git_sees_it(tmp_path, ["a"]) == set()


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 40 + "*b",
        "**/a*" * 40 + "/b",
        "/" + "*a" * 60 + "/b",
        "[a-z]*" * 60 + "1",
        "**/" * 60,
    ],
)
def test_no_pattern_takes_long(tmp_path, pattern):
    name = "a" * 250
    (tmp_path / ".gitignore").write_text(pattern)
    with Workspace(tmp_path) as workspace:
        # The test's time limit is the assertion; a backtracking matcher needs years.
        assert (
            not GitIgnore(workspace).ignores("/".join([name] * 15) + "/c1c")
            or pattern == "**/" * 60
        )
