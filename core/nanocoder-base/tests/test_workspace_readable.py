"""What policies let be read: in every way in which a workspace reads and lists."""

import pytest
from nanocoder import PathFilter, Readable, Workspace, WorkspaceError


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
    for path in ("a", "payroll/2026/sum", "private/b", "deep/payroll", "deep/c"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("text\n")
    (tmp_path / "link").symlink_to("payroll/2026/sum")
    return tmp_path


@pytest.fixture
def workspace(root):
    readable = Readable([("acme", Payroll())])
    with Workspace(root, readable=readable) as workspace:
        yield workspace


@pytest.mark.parametrize("path", ["payroll/2026/sum", "link", "deep/payroll", "./deep/../link"])
def test_what_is_refused_is_opened_by_no_path(workspace, path):
    for read in (workspace.open, workspace.read_bytes, workspace.read_text, workspace.digest_of):
        with pytest.raises(WorkspaceError, match="payroll is confidential") as caught:
            read(path)
        assert caught.value.error_class == "read_denied"


def test_a_listing_leaves_it_out(workspace):
    assert {entry.path for entry in workspace.scan()} == {"a", "deep", "link"}
    assert [entry.name for entry in workspace.scan("deep")] == ["c"]
    with workspace.open_folder() as folder:
        assert folder.refused(["a", "payroll", "private"]) == {"payroll", "private"}


@pytest.mark.parametrize("start", ["payroll", "payroll/2026"])
def test_no_listing_starts_where_nobody_may_read(workspace, start):
    for listing in (workspace.open_folder, workspace.scan, workspace.readable_below):
        with pytest.raises(WorkspaceError) as caught:
            listing(start)
        assert caught.value.error_class == "read_denied"


def test_what_a_person_has_to_agree_to_is_found_only_where_a_listing_starts_there(workspace):
    assert [entry.path for entry in workspace.scan("private")] == ["private/b"]
    assert workspace.read_text("private/b") == "text\n"  # who named it was asked
    assert not workspace.readable_below()("private/b")
    assert workspace.readable_below("private")("private/b")


def test_a_filter_that_breaks_refuses(root):
    readable = Readable([("acme", Payroll()), ("broken", Broken())])
    assert readable.refuses("a") == "policy 'broken' failed: RuntimeError: boom"
    with Workspace(root, readable=readable) as workspace:
        assert workspace.scan() == []
        with pytest.raises(WorkspaceError, match="boom"):
            workspace.read_text("a")


def test_a_path_of_a_thousand_folders_is_judged(root):
    deep = "/".join(["x"] * 2_000)
    readable = Readable([("acme", Payroll())])
    assert readable.refuses(f"{deep}/payroll/y") == "payroll is confidential"
    assert readable.refuses(deep) == ""


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("app/payroll", "app/open"),
        ("app/payroll/x", "app/x"),
        ("app", "payroll-of/app"),
        ("app/deep", "app/payroll-open"),
    ],
)
def test_a_move_lets_nothing_be_read_that_nobody_may_read(source, target, tmp_path):
    class Below(PathFilter):
        def refuses(self, path):
            names = path.split("/")
            return "confidential" if names[0] == "app" and "payroll" in names else ""

    for file in ("app/payroll/x", "app/deep/payroll/y", "app/other"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("secret")
    readable = Readable([("acme", Below())])
    with Workspace(tmp_path, readable=readable) as workspace:
        if target == "app/payroll-open":  # it stays confidential below "app"
            workspace.move(source, target)
            return
        with pytest.raises(WorkspaceError, match="confidential") as refused:
            workspace.move(source, target)
        assert refused.value.error_class == "read_denied"
        assert (tmp_path / source).exists()
        workspace.move("app/other", "app/else")


def test_a_link_to_what_nobody_may_read_can_be_moved(root):
    (root / "way").symlink_to("payroll")
    with Workspace(root, readable=Readable([("acme", Payroll())])) as workspace:
        workspace.move("way", "other")
        assert (root / "other").is_symlink()


def test_no_path_is_proposed_that_may_not_be_read(workspace):
    for path in ("sum", "Payroll", "b", "PRIVATE/B"):
        with pytest.raises(WorkspaceError) as caught:
            workspace.read_text(path)
        assert caught.value.data == {"nearest": []}
