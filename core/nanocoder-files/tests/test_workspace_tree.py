import os
import subprocess

import pytest
from nanocoder_files import Workspace, WorkspaceError


@pytest.fixture(params=["openat2", "walk"])
def ground(request, tmp_path):
    (tmp_path / "ws").mkdir()
    with Workspace(tmp_path / "ws", force_walk=request.param == "walk") as workspace:
        yield workspace, tmp_path / "ws"


def make(folder, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")


def test_scan_tells_what_is_there(ground):
    workspace, ws = ground
    make(ws, "b.txt", "d/f")
    (ws / "a").symlink_to("d")
    os.utime(ws / "b.txt", (5, 5))
    entries = workspace.scan()
    assert [(entry.name, entry.kind) for entry in entries] == [
        ("a", "link"), ("b.txt", "file"), ("d", "dir"),
    ]  # fmt: skip
    assert (entries[1].size, entries[1].mtime) == (1, 5.0)
    assert [entry.path for entry in workspace.scan("a")] == ["a/f"]
    with pytest.raises(WorkspaceError) as caught:
        workspace.scan("b.txt")
    assert caught.value.error_class == "not_a_directory"


def test_the_walk_is_sorted_and_goes_through_no_link(ground):
    workspace, ws = ground
    make(ws, "b", "a/y", "a/x", "c/z", ".git/config", "a/.git/config", ".hidden/h", ".dot")
    (ws / "a/up").symlink_to("..")
    (ws / "out").symlink_to(ws.parent)
    walked = [entry.path for entry in workspace.walk()]
    assert walked == [
        ".dot", ".hidden", ".hidden/h", "a", "a/up", "a/x", "a/y", "b", "c", "c/z", "out",
    ]  # fmt: skip
    assert [entry.path for entry in workspace.walk("a")] == ["a/up", "a/x", "a/y"]
    assert [entry.path for entry in workspace.walk("a/up/c")] == ["c/z"]
    shorter = workspace.walk(hidden=False, skip={"a", "out"}, details=False)
    assert [(entry.path, entry.size) for entry in shorter] == [("b", 0), ("c", 0), ("c/z", 0)]


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

    files = workspace.files(skip={"skip"}, rules=rules)
    assert [(batch.folder, batch.names) for batch in files] == [
        ("a", ["b"]), ("a/m", ["keep.log", "x"]), ("a", ["y"]), ("", ["b"]),
        ("o\\xff", ["n\\xff"]),
    ]  # fmt: skip
    assert asked == [(".", ".git", "a", "o\\xff", "skip"), ("a", "m"), ("a/m",), ("o\\xff",)]
    walked = [entry.path for entry in workspace.walk(skip={"skip"}, rules=lambda *_: ["a", "pipe"])]
    assert walked == ["b", "link", "o\\xff", "o\\xff/n\\xff", "x.log"]
    assert [(files.folder, files.names) for files in workspace.files("a", depth=1)] == [
        ("a", ["b"]), ("a", ["y"]),
    ]  # fmt: skip
    (odd,) = workspace.files("o\\xff")
    assert odd.path("n\\xff") == "o\\xff/n\\xff"
    assert odd.mtimes(["n\\xff", "gone"]) == [7.0, 0.0]
    with pytest.raises(WorkspaceError):
        list(workspace.files("b"))


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
        assert sum(1 for _ in workspace.walk(details=False)) == 1900
        assert not list(workspace.files())
    finally:
        # What pytest would clean up with recurses too deep.
        subprocess.run(["rm", "-rf", str(ws)], check=True)


# PATH-030, 031, 069, 071, 072, 073, 075, 078, 079
@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".GIT/hooks/pre-commit",
        "./.git//hooks/./pre-commit",
        ".git/hooks/../hooks/pre-commit",
        "sub/.git/config",
        ".gi\u200dt/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        "git~1/config",
        ".NanoCoder/config.toml",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".cursor/mcp.json",
        ".devcontainer/devcontainer.json",
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        ".github",
        "sub/.envrc",
        ".mcp.json",
        ".pre-commit-config.yaml",
        ".bashrc",
        ".zshenv/",
        ".gitattributes",
        ".gitmodules",
        ".ripgreprc",
        ".venv/lib/python3.11/site-packages/x.py",
        "HEAD",
        "innocent/config",
        "readme.txt",
        "x/../.vscode/settings.json",
    ],
)
def test_what_decides_what_runs_is_protected_even_where_it_does_not_exist(ground, path):
    workspace, ws = ground
    (ws / "innocent").symlink_to(".git")
    (ws / "readme.txt").symlink_to(".envrc")
    assert workspace.is_protected(path)


@pytest.mark.parametrize(
    "path",
    ["src/main.py", "github/dependabot.yml", "cargo/config", ".gitignore", "git/config",
     "a.git/x", "headers.h", ".env", "workflows/x", "..git", "README.md"],
)  # fmt: skip
def test_everything_else_is_not(ground, path):
    workspace, _ = ground
    assert workspace.is_protected(path) == ""


def test_further_paths_can_be_protected(tmp_path):
    home = tmp_path / "Config"
    with Workspace(tmp_path, extra_protected=[str(home / "nanocoder")]) as workspace:
        assert workspace.is_protected("Config/nanocoder/x.toml")
        assert workspace.is_protected("config/NANOCODER")
        assert workspace.is_protected("Config")
        assert not workspace.is_protected("Config/other")
        (tmp_path / "alias").symlink_to("Config/nanocoder")
        home.mkdir()
        assert workspace.is_protected("alias/x.toml")


def test_a_walk_stops_at_the_depth_it_is_given(ground):
    workspace, ws = ground
    make(ws, "a/b/c/d", "e")
    assert [entry.path for entry in workspace.walk(depth=1)] == ["a", "e"]
    assert [entry.path for entry in workspace.walk("a", depth=2)] == ["a/b", "a/b/c"]
