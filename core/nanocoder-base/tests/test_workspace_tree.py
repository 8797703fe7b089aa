import os

import pytest
from nanocoder_files import Workspace, WorkspaceError


@pytest.fixture
def ground(tmp_path):
    (tmp_path / "ws").mkdir()
    with Workspace(tmp_path / "ws") as workspace:
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
    assert workspace.protection(path)


@pytest.mark.parametrize(
    "path",
    ["src/main.py", "github/dependabot.yml", "cargo/config", ".gitignore", "git/config",
     "a.git/x", "headers.h", ".env", "workflows/x", "..git", "README.md"],
)  # fmt: skip
def test_everything_else_is_not(ground, path):
    workspace, _ = ground
    assert workspace.protection(path) is None


def test_further_paths_can_be_protected(tmp_path):
    home = tmp_path / "Config"
    with Workspace(tmp_path, extra_protected=[str(home / "nanocoder")]) as workspace:
        assert workspace.protection("Config/nanocoder/x.toml")
        assert workspace.protection("config/NANOCODER")
        assert workspace.protection("Config")
        assert not workspace.protection("Config/other")
        (tmp_path / "alias").symlink_to("Config/nanocoder")
        home.mkdir()
        assert workspace.protection("alias/x.toml")
