"""What move_file does, refuses and answers."""

import pytest
from nanocoder import SessionInfo, ToolCall, ToolContext, ToolError, Workspace
from nanocoder_tool_move import move_file, nanocoder_render


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def ctx(tmp_path, root):
    with Workspace(root, backups=tmp_path / "backups") as workspace:
        yield ToolContext("s", "c1", workspace, root)


def move(ctx, source, destination, **more):
    arguments = {"source": source, "destination": destination, **more}
    return move_file.invoke(ctx, move_file.signature.check(arguments))


def refusal(ctx, source, destination, **more):
    with pytest.raises(ToolError) as caught:
        move(ctx, source, destination, **more)
    return caught.value


@pytest.mark.contract("MA-57")
def test_a_file_moves_into_a_new_directory(ctx, root):
    (root / "a.txt").write_text("x")
    result = move(ctx, "a.txt", "deep/er/b.txt")
    assert result.output == "Moved: a.txt -> deep/er/b.txt"
    assert (root / "deep/er/b.txt").read_text() == "x"
    assert not (root / "a.txt").exists()
    assert result.data == {
        "source": "a.txt",
        "path": "deep/er/b.txt",
        "replaced": False,
        "backup": "",
    }


def test_a_directory_moves_with_its_content(ctx, root):
    (root / "old/sub").mkdir(parents=True)
    (root / "old/sub/a.txt").write_text("x")
    move(ctx, "old", "new")
    assert (root / "new/sub/a.txt").read_text() == "x"
    assert not (root / "old").exists()


@pytest.mark.contract("MA-57")
def test_risk_is_medium():
    assert move_file.risk == "medium"


# PATH-046
@pytest.mark.contract("MA-57")
@pytest.mark.parametrize(
    ("source", "destination"),
    [("a.txt", "../b.txt"), ("../outside.txt", "b.txt"), ("a.txt", "/tmp/b"), ("a.txt", "out/b")],
)
def test_both_ends_stay_inside(ctx, root, source, destination):
    (root / "a.txt").write_text("x")
    (root / "out").symlink_to("..")
    outside = root.parent / "outside.txt"
    outside.write_text("stays")
    assert refusal(ctx, source, destination).error_class == "path_outside_workspace"
    assert (root / "a.txt").exists()
    assert outside.read_text() == "stays"
    assert not (root.parent / "b").exists()


@pytest.mark.contract("MA-57")
def test_what_is_replaced_is_kept(ctx, root, tmp_path):
    (root / "a.txt").write_text("new")
    (root / "b.txt").write_text("precious")
    result = move(ctx, "a.txt", "b.txt", replace=True)
    assert (root / "b.txt").read_text() == "new"
    [backup] = [path for path in (tmp_path / "backups").rglob("*") if path.is_file()]
    assert backup.read_text() == "precious"
    assert result.metadata["backup"] == str(backup)
    assert str(backup) in result.output


def test_nothing_is_replaced_unasked(ctx, root):
    (root / "a.txt").write_text("new")
    (root / "b.txt").write_text("precious")
    error = refusal(ctx, "a.txt", "b.txt")
    assert error.error_class == "file_exists"
    assert "replace=true" in str(error)
    assert (root / "b.txt").read_text() == "precious"
    assert (root / "a.txt").read_text() == "new"


@pytest.mark.parametrize("replace", [True, False])
def test_a_directory_is_never_replaced_and_the_way_into_it_is_named(ctx, root, replace):
    (root / "a.txt").write_text("x")
    (root / "folder").mkdir()
    error = refusal(ctx, "a.txt", "folder", replace=replace)
    assert error.error_class == "file_exists"
    assert "folder/a.txt" in str(error)
    assert (root / "a.txt").exists()


@pytest.mark.parametrize(
    ("source", "destination"),
    [(".git", "x"), (".git/HEAD", "x"), ("a.txt", ".git/hooks/pre-commit"), (".", "x")],
)
def test_git_and_the_workspace_itself_stay_where_they_are(ctx, root, source, destination):
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref")
    (root / "a.txt").write_text("x")
    error = refusal(ctx, source, destination)
    assert error.error_class in {"protected_path", "invalid_path"}
    assert (root / ".git/HEAD").exists()
    assert (root / "a.txt").exists()


@pytest.mark.parametrize("destination", ["folder", "folder/sub", "./folder/deep/er"])
def test_a_directory_cannot_move_into_itself(ctx, root, destination):
    (root / "folder").mkdir()
    assert refusal(ctx, "folder", destination).error_class == "invalid_path"
    assert list(root.iterdir()) == [root / "folder"]


def test_a_link_moves_and_what_it_leads_to_stays(ctx, root):
    (root / "kept.txt").write_text("kept")
    (root / "link").symlink_to("kept.txt")
    move(ctx, "link", "other")
    assert (root / "other").is_symlink()
    assert (root / "kept.txt").read_text() == "kept"


def test_a_failed_move_leaves_no_new_directories(ctx, root):
    assert refusal(ctx, "missing.txt", "new/deep/b.txt").error_class == "file_not_found"
    assert list(root.iterdir()) == []


def test_a_read_file_can_be_changed_at_its_new_place(ctx, root):
    (root / "a.txt").write_text("x")
    ctx.workspace.read_text("a.txt")
    move(ctx, "a.txt", "b.txt")
    (root / "b.txt").write_text("changed by somebody")
    with pytest.raises(ToolError) as caught:
        ctx.workspace.write_text("b.txt", "y")
    assert caught.value.error_class == "stale_read"


def test_the_preview_names_both_ends_and_what_is_in_the_way(root):
    (root / "a.txt").touch()
    (root / "b.txt").touch()
    session = SessionInfo("s", root)

    def preview(**arguments):
        return nanocoder_render(ToolCall("1", "move_file", arguments), None, session)

    assert preview(source="a.txt", destination="c.txt") == "move a.txt -> c.txt"
    assert "replaces" in preview(source="a.txt", destination="b.txt", replace=True)
    (root / "nowhere").symlink_to("gone")
    assert preview(source="nowhere", destination="c") == "move nowhere -> c"
    (root / "folder").mkdir()
    for refused_arguments, error_class in (
        ({"source": "a.txt", "destination": "b.txt"}, "file_exists"),
        ({"source": "a.txt", "destination": "folder", "replace": True}, "file_exists"),
        ({"source": "a.txt", "destination": "../x"}, "path_outside_workspace"),
        ({"source": "missing", "destination": "c"}, "file_not_found"),
    ):
        with pytest.raises(ToolError) as refused:
            preview(**refused_arguments)
        assert refused.value.error_class == error_class
    assert nanocoder_render(ToolCall("1", "grep", {}), None, session) is None
