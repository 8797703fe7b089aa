"""What delete_file does, refuses and answers."""

import os

import pytest
from nanocoder import SessionInfo, ToolCall, ToolContext, ToolError, Workspace
from nanocoder_tool_delete import delete_file, nanocoder_render


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def delete(tmp_path, root):
    with Workspace(root, backups=tmp_path / "backups") as workspace:
        ctx = ToolContext("s", "c1", workspace, root)
        yield lambda path: delete_file.invoke(ctx, delete_file.signature.check({"path": path}))


def refusal(delete, path):
    with pytest.raises(ToolError) as caught:
        delete(path)
    return caught.value


@pytest.mark.contract("MA-55")
def test_a_file_is_deleted_and_its_content_kept(delete, root, tmp_path):
    (root / "a.txt").write_text("precious\n")
    result = delete("a.txt")
    assert result.output == "File deleted: a.txt (9 bytes)"
    assert not (root / "a.txt").exists()
    [backup] = [path for path in (tmp_path / "backups").rglob("*") if path.is_file()]
    assert backup.read_text() == "precious\n"
    assert result.data == {"path": "a.txt", "size": 9, "backup": str(backup)}


@pytest.mark.contract("MA-55")
def test_without_its_backup_nothing_is_deleted(root, tmp_path):
    (tmp_path / "backups").write_text("in the way")
    (root / "a.txt").write_text("precious\n")
    with (
        Workspace(root, backups=tmp_path / "backups") as workspace,
        pytest.raises(ToolError, match="backup"),
    ):
        delete_file.invoke(ToolContext("s", "c", workspace, root), {"path": "a.txt"})
    assert (root / "a.txt").read_text() == "precious\n"


def test_a_session_without_backups_says_that_no_copy_is_kept(root):
    (root / "a.txt").write_text("x")
    with Workspace(root) as workspace:
        result = delete_file.invoke(ToolContext("s", "c", workspace, root), {"path": "a.txt"})
    assert "no copy is kept" in result.output


@pytest.mark.contract("MA-55")
def test_it_is_destructive():
    assert delete_file.risk == "destructive"
    assert delete_file.effects == {"write", "reversible"}


@pytest.mark.contract("MA-56")
@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "sub/../../outside.txt"])
def test_a_path_outside_is_refused(delete, root, path):
    outside = root.parent / "outside.txt"
    outside.write_text("stays")
    assert refusal(delete, path).error_class == "path_outside_workspace"
    assert outside.read_text() == "stays"


@pytest.mark.contract("MA-56")
@pytest.mark.parametrize("path", ["folder", "folder/", "./folder/."])
def test_a_directory_is_refused(delete, root, path):
    (root / "folder").mkdir()
    error = refusal(delete, path)
    assert error.error_class == "is_a_directory"
    assert "one by one" in str(error)
    assert (root / "folder").is_dir()


# PATH-050
@pytest.mark.contract("MA-56")
@pytest.mark.parametrize("path", [".", "./", "folder/.."])
def test_the_workspace_itself_is_refused(delete, root, path):
    (root / "folder").mkdir()
    assert refusal(delete, path).error_class in {"protected_path", "is_a_directory"}
    assert root.is_dir()


@pytest.mark.contract("MA-56")
@pytest.mark.parametrize(
    "path", [".git/HEAD", ".git", ".git/refs/heads/main", "sub/../.git/HEAD", "link/HEAD"]
)
def test_what_belongs_to_git_is_refused(delete, root, path):
    (root / "sub").mkdir()
    (root / ".git/refs/heads").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/refs/heads/main").write_text("0" * 40)
    (root / "link").symlink_to(".git")
    assert refusal(delete, path).error_class == "protected_path"
    assert (root / ".git/HEAD").exists()
    assert (root / ".git/refs/heads/main").exists()


def test_git_as_a_file_is_refused_as_well(delete, root):
    (root / ".git").write_text("gitdir: elsewhere\n")
    assert refusal(delete, ".git").error_class == "protected_path"


@pytest.mark.parametrize("target", ["kept.txt", "../outside.txt", "nowhere", "link"])
def test_a_link_goes_and_what_it_leads_to_stays(delete, root, target):
    (root / "kept.txt").write_text("kept")
    outside = root.parent / "outside.txt"
    outside.write_text("stays")
    (root / "link").symlink_to(target)
    assert delete("link").output == "Link deleted: link"
    assert not os.path.lexists(root / "link")
    assert (root / "kept.txt").read_text() == "kept"
    assert outside.read_text() == "stays"


def test_a_missing_file_is_an_error_that_names_what_is_near(delete, root):
    (root / "main.py").touch()
    error = refusal(delete, "mian.py")
    assert error.error_class == "file_not_found"
    assert "main.py" in str(error)


def test_a_file_that_changed_since_it_was_read_is_not_deleted(root):
    (root / "a.txt").write_text("as read")
    with Workspace(root) as workspace:
        workspace.read_text("a.txt")
        (root / "a.txt").write_text("changed by somebody")
        with pytest.raises(ToolError) as caught:
            delete_file.invoke(ToolContext("s", "c", workspace, root), {"path": "a.txt"})
    assert caught.value.error_class == "stale_read"
    assert (root / "a.txt").exists()


def test_the_preview_says_what_would_go(root):
    (root / "a.txt").write_text("12345")
    session = SessionInfo("s", root)
    call = ToolCall("1", "delete_file", {"path": "a.txt"})
    assert nanocoder_render(call, None, session) == "delete a.txt (file, 5 bytes)"
    for path, error_class in (("b.txt", "file_not_found"), (".", "is_a_directory")):
        with pytest.raises(ToolError) as refused:
            nanocoder_render(ToolCall("1", "delete_file", {"path": path}), None, session)
        assert refused.value.error_class == error_class
    assert nanocoder_render(ToolCall("1", "grep", {}), None, session) is None


@pytest.mark.parametrize("folder", ["", "re\u0301sume\u0301/"])
def test_a_file_by_another_form_of_its_name_is_no_link(delete, root, folder):
    path = root / folder / "cafe\u0301.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    assert delete(f"{folder}caf\u00e9.txt").output.startswith("File deleted: ")
    assert not path.exists()
    path.symlink_to("elsewhere")
    assert delete(f"{folder}caf\u00e9.txt").output.startswith("Link deleted: ")
