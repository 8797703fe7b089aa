"""What a program has written into a throw-away layer."""

import os

from nanocoder_kit_process.trees import remove_tree
from nanocoder_kit_sandbox import layers
from nanocoder_kit_sandbox.layers import changed_files, describe_changes


def test_files_and_links_are_named_and_caches_are_not(tmp_path):
    for name in ("sub/file", "cache/CACHEDIR.TAG", "cache/file"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    os.symlink("/", tmp_path / "link")
    assert changed_files(str(tmp_path)) == ["empty/", "link", "sub/file"]


def test_a_deep_tree_is_looked_through_as_far_as_paths_go(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    (tmp_path / "d/x").touch()
    paths = changed_files(str(tmp_path))
    remove_tree(tmp_path / "d")
    assert paths[-1] == "d/x"
    assert len(paths) == 2
    assert len(describe_changes(paths)) < 500


def test_files_are_counted_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "MAX_FILES", 30)
    for number in range(40):
        (tmp_path / f"{number:02}").touch()
    names = changed_files(str(tmp_path))
    assert len(names) == 30
    assert describe_changes(names).endswith(" (25+ more)")
