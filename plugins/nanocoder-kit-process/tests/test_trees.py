"""Walking and removing trees that are deeper than Python recurses."""

import os

import pytest
from nanocoder_kit_process.trees import remove_tree, walk

LEVELS = 3_000


def deepen(folder):
    """Make a chain of folders that is longer than any path, with a file at its end."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def test_a_deep_tree_is_walked_as_far_as_paths_go_and_removed(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    deepen(top)
    errors = []
    assert 1_000 < len(list(walk(str(top), errors.append))) < LEVELS
    assert [error.strerror for error in errors] == ["File name too long"]
    remove_tree(top)
    assert not top.exists()
    remove_tree(top)


def test_no_link_in_a_tree_is_followed(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "top/a").mkdir(parents=True)
    (tmp_path / "top/a/link").symlink_to(tmp_path / "kept")
    (tmp_path / "top/link").symlink_to("../kept")
    top = str(tmp_path / "top")
    assert sorted(walk(top)) == [(top, ["a"], ["link"]), (f"{top}/a", [], ["link"])]
    remove_tree(top)
    (tmp_path / "link").symlink_to("kept")
    with pytest.raises(OSError, match="link"):
        remove_tree(tmp_path / "link")
    assert (tmp_path / "kept/file").exists()


def test_folders_without_rights_are_removed(tmp_path):
    (tmp_path / "top/a/b").mkdir(parents=True)
    (tmp_path / "top/a/b/file").touch()
    for name in ("top/a/b", "top/a", "top"):
        (tmp_path / name).chmod(0)
    folder = os.open(tmp_path, os.O_RDONLY)
    remove_tree("top", folder)
    os.close(folder)
    assert not (tmp_path / "top").exists()
