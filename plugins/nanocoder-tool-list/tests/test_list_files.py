"""What list_files answers."""

import os

import pytest
from nanocoder import BadArguments, ToolContext, ToolError, Workspace
from nanocoder_tool_list import Settings, list_files


@pytest.fixture
def ctx(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    with Workspace(root) as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=root
        )


def make(ctx, *paths):
    for path in paths:
        file = ctx.working_directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def listed(ctx, **arguments):
    return list_files.invoke(ctx, list_files.signature.check(arguments))


@pytest.mark.contract("MA-58")
def test_a_directory_is_shown_as_a_tree(ctx):
    make(ctx, "a.py", "src/b.py", "src/x/c.py", "src/x/y/d.py")
    (ctx.working_directory / "link").symlink_to("src")
    os.mkfifo(ctx.working_directory / "pipe")
    assert listed(ctx).output == "./\n  a.py\n  link@\n  pipe|\n  src/\n    b.py\n    x/"
    assert listed(ctx, path="src", depth=3).output == (
        "src/\n  b.py\n  x/\n    c.py\n    y/\n      d.py"
    )
    assert listed(ctx, depth=1).metadata == {
        "path": ".",
        "count": 4,
        "truncated": False,
        "summary": "4 entries",
    }


@pytest.mark.contract("MA-58")
def test_what_tools_made_and_git_ignores_is_left_out(ctx):
    make(ctx, ".git/config", "node_modules/x/y", "out/x", "src/__pycache__/x", "src/a.py")
    (ctx.working_directory / ".gitignore").write_text("out/\n")
    assert listed(ctx).output == (
        "./\n  .gitignore\n  src/\n    a.py\n"
        "[left out: 2 folders (node_modules/, src/__pycache__/) by name;"
        " 1 folder (out/), which git ignores. Name a folder in path to look into it]"
    )
    assert listed(ctx, path="out").output == "out/\n  x"


def test_an_empty_list_says_what_git_ignores(ctx):
    make(ctx, "scripts/w.py")
    (ctx.working_directory / ".gitignore").write_text("scripts/*\n")
    assert listed(ctx, path="scripts").output == (
        "scripts/ has nothing to list\n[left out: 1 file (scripts/w.py), which git ignores]"
    )


@pytest.mark.contract("MA-58")
def test_a_long_listing_is_cut_with_a_count(ctx):
    ctx.settings = Settings(max_entries=2)
    make(ctx, "a", "b", "c", "d")
    result = listed(ctx)
    assert result.output == "./\n  a\n  b\n[2 more entries]"
    assert (result.metadata["count"], result.metadata["truncated"]) == (4, True)
    assert [entry["path"] for entry in result.data["entries"]] == ["a", "b"]


def test_an_empty_directory_says_so(ctx):
    assert listed(ctx).output == "./ has nothing to list"


@pytest.mark.parametrize(
    ("path", "error_class"),
    [
        ("..", "path_outside_workspace"),
        ("out", "path_outside_workspace"),
        ("nothing", "file_not_found"),
        ("file", "not_a_directory"),
    ],
)
def test_what_is_no_directory_gets_its_own_error(ctx, path, error_class):
    make(ctx, "file")
    (ctx.working_directory / "out").symlink_to("/etc")
    with pytest.raises(ToolError) as caught:
        listed(ctx, path=path)
    assert caught.value.error_class == error_class


@pytest.mark.parametrize("depth", [0, -1, 21])
def test_an_impossible_depth_is_refused(ctx, depth):
    with pytest.raises(BadArguments, match="depth"):
        listed(ctx, depth=depth)
