"""Text in UTF-8, which is all that a workspace itself knows."""

import pytest
from nanocoder_files import Workspace, WorkspaceError


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\r\nb\n", "a\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        ("\u2028é\x85\n".encode(), "\u2028é\x85\n"),
    ],
)
def test_utf_8_is_read_with_plain_line_ends(tmp_path, data, text):
    (tmp_path / "f").write_bytes(data)
    with Workspace(tmp_path) as workspace:
        assert workspace.read_text("f") == text


@pytest.mark.parametrize("data", [b"a\0b", b"\xe9t\n", "é\n".encode("utf-16")])
def test_anything_else_is_refused(tmp_path, data):
    (tmp_path / "f").write_bytes(data)
    with Workspace(tmp_path) as workspace:
        with pytest.raises(WorkspaceError, match="'f' is not UTF-8 text") as caught:
            workspace.read_text("f")
        assert caught.value.error_class == "binary_file"
        assert workspace.read_bytes("f") == data


def test_a_write_knows_what_was_read_as_text(tmp_path):
    (tmp_path / "f").write_text("old")
    with Workspace(tmp_path) as workspace:
        assert workspace.read_text("f") == "old"
        (tmp_path / "f").write_text("other")
        with pytest.raises(WorkspaceError) as caught:
            workspace.write_text("f", "new")
        assert caught.value.error_class == "stale_read"


def test_half_of_a_pair_is_written_nowhere(tmp_path):
    with Workspace(tmp_path) as workspace:
        with pytest.raises(WorkspaceError, match=r"cannot hold '.ud800'") as caught:
            workspace.write_text("f", "a\ud800")
        assert caught.value.error_class == "invalid_arguments"
    assert not (tmp_path / "f").exists()
