"""Where a path leads is told beforehand exactly as it is opened afterwards."""

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nanocoder import ProtectionKind, SessionInfo, Workspace, WorkspaceError
from nanocoder_files import escape_path, protection_of, unescape_path

NAMES = ["a", "b", "c", "é", "\x1b", "\\xff", os.fsdecode(b"\xff")]
PARTS = [*NAMES, "..", ".", "", "missing"]
names = st.sampled_from(NAMES)
paths = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("/".join)
targets = st.one_of(paths, st.sampled_from(["/", "{ws}", "{ws}/a", "{out}", "..", "{ws}/../out"]))
nodes = st.lists(
    st.tuples(
        st.lists(names, min_size=1, max_size=3).map("/".join), st.sampled_from("dfl"), targets
    ),
    max_size=8,
)


@contextlib.contextmanager
def tree(made):
    top = Path(tempfile.mkdtemp())
    ws, out = top / "ws", top / "out"
    ws.mkdir()
    out.mkdir()
    (out / "a").write_text("outside")
    try:
        for where, kind, target in made:
            with contextlib.suppress(OSError, ValueError):
                place = ws / where
                if kind == "l":
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(target.format(ws=ws, out=out) or ".")
                elif kind == "d":
                    place.mkdir(parents=True)
                else:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(where, errors="replace")
        yield ws, out
    finally:
        shutil.rmtree(top)


def identity(status):
    return status.st_dev, status.st_ino


@given(nodes, paths, st.sampled_from(["", "{ws}/", "./"]))
@example([("a/b", "d", ""), ("c", "l", "a/b"), ("a/a", "f", "")], "c/../a", "")
@example([("c", "l", "missing/deep")], "c/../a", "")
@example([("a", "l", "b"), ("b", "l", "c")], "a/../b", "")
@example([("a", "l", "a")], "a/../..", "")
@example([("a/b", "d", ""), ("c", "l", "a/b")], "c/../..", "")
def test_the_place_that_is_judged_is_the_place_that_is_opened(made, path, prefix):
    with tree(made) as (ws, _), Workspace(ws) as workspace:
        session = SessionInfo("s", ws)
        path = escape_path(prefix.format(ws=ws) + path)
        try:
            with workspace.open(path) as file:
                opened = identity(os.fstat(file.fileno()))
        except WorkspaceError as error:
            opened = error
        resolved = session.resolve(path)
        if not isinstance(opened, WorkspaceError):
            assert resolved.is_inside
            assert identity(os.lstat(resolved.place)) == opened
        elif opened.error_class == "path_outside_workspace":
            assert not resolved.is_inside
        try:
            written = workspace.write_text(path, "new")
        except WorkspaceError:
            return
        assert resolved.is_inside
        assert written.path == escape_path(resolved.path)
        assert (ws / resolved.path).read_text() == "new"


@given(nodes, paths, st.sampled_from([".", "a", "b/c", "../out"]))
def test_a_word_of_a_command_is_resolved_as_the_kernel_does(made, path, directory):
    with tree(made) as (ws, _):
        resolved = SessionInfo("s", ws).resolve(path, directory, literal=True)
        try:
            status = os.stat(os.path.join(ws, directory, path))
        except (OSError, ValueError):
            return
        assert resolved.exists
        assert identity(os.lstat(resolved.place)) == identity(status)
        assert os.path.realpath(resolved.place) == resolved.place


letters = st.one_of(
    st.binary(min_size=1, max_size=12).map(os.fsdecode),
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.lists(
        st.sampled_from(["\\", "x", "5c", "1b", "ff", "u", "202e", "U", "0", "\n", "é", "\u202e"]),
        max_size=8,
    ).map("".join),
).filter(lambda name: "\0" not in name)


@given(letters)
@example("\\x1b")
@example("\\x5cx1b")
@example("\x1b[31m\n\u202e\u0085\u200b\U000e0041")
def test_what_is_shown_of_a_name_is_read_back_as_that_name(name):
    visible = escape_path(name)
    assert unescape_path(visible) == name
    assert not any(ord(letter) < 32 or letter in "\x7f\u202e\u200b\u2028" for letter in visible)
    visible.encode()


@pytest.mark.parametrize("path", ["\\xc3\\xa9", "a\\x41", "\\u00e9", "\\ud800", "\\U00110000"])
def test_an_escape_that_is_never_shown_is_no_escape(path):
    assert unescape_path(path) == path


def test_every_name_on_the_way_is_told(tmp_path):
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "second").symlink_to("src/deep")
    (tmp_path / "first").symlink_to("second")
    resolved = SessionInfo("s", tmp_path).resolve("./first//new")
    assert resolved.names == ("first/new", "second/new", "src/deep/new")
    assert resolved.path == "src/deep/new"
    assert resolved.places[-1] == f"{tmp_path}/src/deep/new"
    assert (resolved.is_inside, resolved.exists) == (True, False)


def test_a_path_that_leaves_and_comes_back_is_outside(tmp_path):
    ws = tmp_path / "ws"
    ws.mkdir()
    (ws / "up").symlink_to("..")
    resolved = SessionInfo("s", ws).resolve("up/ws/file")
    assert not resolved.is_inside
    assert resolved.path == "file"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".husky/pre-commit", "hook"),
        (".pre-commit-config.yml", "hook"),
        (".gitlab-ci.yml", "build"),
        (".circleci/config.yml", "build"),
        (".github", "build"),
        (".github/actions/x/action.yml", "build"),
        (".cargo", "tool"),
        ("sub/.cargo/config.toml", "tool"),
        (".yarnrc", "tool"),
        (".yarnrc.yml", "tool"),
        (".gdbinit", "tool"),
        ("mise.toml", "tool"),
        (".config/mise/config.toml", "tool"),
        (".hg/hgrc", "tool"),
        ("gradlew", "program"),
        ("gradlew.bat", "program"),
        ("sub/mvnw", "program"),
        ("mvnw.cmd", "program"),
        ("my.code-workspace", "editor"),
        (".sublime-project", "editor"),
        ("My.Sublime-Project", "editor"),
        (".fleet/run.json", "editor"),
        (".lvimrc", "editor"),
        (".dir-locals.el", "editor"),
        (".exrc", "editor"),
        (".venv/bin/python", "program"),
        ("venv/bin/pytest", "program"),
        ("VENV/Scripts/python.exe", "program"),
        (".venv", "program"),
        ("web/node_modules/.bin/tsc", "program"),
        ("env/bin/python", "program"),
        ("env/pyvenv.cfg", "program"),
        ("env", "program"),
        ("link/bin/x", "program"),
        (".git/config", "git"),
        ("HEAD", "repository"),
    ],
)
def test_what_decides_what_runs_has_a_kind(tmp_path, path, kind):
    (tmp_path / "env").mkdir()
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / "link").symlink_to("env")
    protection = SessionInfo("s", tmp_path).resolve(path).protection
    assert protection is not None
    assert protection.kind is ProtectionKind(kind)
    with Workspace(tmp_path) as workspace:
        assert workspace.protection(path) == protection


@pytest.mark.parametrize(
    "path",
    [
        *("env/src/x.py", "src/bin/x", "node_modules/left-pad/index.js"),
        *(".cargo/registry", ".hg/store", "."),
    ],
)
def test_what_only_looks_alike_is_not_protected(tmp_path, path):
    (tmp_path / "env").mkdir()
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
    assert SessionInfo("s", tmp_path).resolve(path).protection is None


def test_the_program_that_runs_is_protected_wherever_it_is(tmp_path):
    import sys

    prefix = Path(os.path.realpath(sys.prefix))
    for root in (prefix, prefix.parent):
        below = os.path.relpath(prefix / "bin/nanocoder", root)
        protection = SessionInfo("s", root).resolve(below).protection
        assert protection is not None
        assert protection.kind is ProtectionKind.PROGRAM
    (tmp_path / "alias").symlink_to(prefix)
    outside = SessionInfo("s", prefix).resolve(f"{tmp_path}/alias/bin/nanocoder")
    assert outside.protection is not None


def test_our_own_folders_are_told_apart(tmp_path):
    state = tmp_path / ".local/state/nanocoder"
    mine = state / "sessions/1.artifacts"
    mine.mkdir(parents=True)
    session = SessionInfo("s", tmp_path, folder=mine, own_folders=(state,))
    for path, is_private in (
        (".local/state/nanocoder/sessions/2.jsonl", True),
        (".LOCAL/state/nanocoder/x", True),
        (str(mine / "output.txt"), False),
        (".local/state/other", False),
    ):
        assert session.resolve(path).is_private == is_private
    protection = session.resolve(str(mine / "output.txt")).protection
    assert protection is not None
    assert protection.kind is ProtectionKind.STATE


def test_a_path_of_many_names_is_judged_at_once():
    began = time.process_time()
    assert protection_of("a/" * 100_000 + ".git/x") is not None
    assert protection_of("a/" * 100_000 + "node_modules/.bin") is not None
    assert time.process_time() - began < 2
