"""What a program has written into a throw-away layer, and that it can be removed."""

import pytest
from nanocoder_kit_sandbox import layers
from nanocoder_kit_sandbox.layers import changed_files, describe_changes


@pytest.fixture
def layer(tmp_path):
    """Provide the folders of a layer, and one below it."""
    folder = tmp_path / "layer"
    for name in ("lower", "u", "w/work"):
        (folder / name).mkdir(parents=True)
    return folder


def changes(layer):
    return changed_files(f"{layer}/u", f"{layer}/lower")


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (None, "x", ["a"]),
        ("x", "y", ["a"]),
        ("x", "longer", ["a"]),
        ("x", "x", []),
    ],
)
def test_a_file_is_named_if_it_is_another_one(layer, before, after, names):
    if before is not None:
        (layer / "lower/a").write_text(before)
    (layer / "u/a").write_text(after)
    assert changes(layer) == names


def test_a_mode_and_a_link_are_compared(layer):
    for top, mode, target in (("lower", 0o644, "one"), ("u", 0o755, "two")):
        (layer / top / "a").write_text("x")
        (layer / top / "a").chmod(mode)
        (layer / top / "l").symlink_to(target)
        (layer / top / "same").symlink_to("one")
    assert changes(layer) == ["a", "l"]


def test_nothing_is_read_through_a_link_below(layer):
    """A folder in the place of a link says nothing about where the link leads."""
    (layer / "elsewhere").mkdir()
    (layer / "elsewhere/a").write_text("guess")
    (layer / "lower/l").symlink_to("../elsewhere")
    (layer / "u/l").mkdir()
    (layer / "u/l/a").write_text("guess")
    assert changes(layer) == ["l/a"]


def test_files_are_counted_up_to_a_limit(layer, monkeypatch):
    monkeypatch.setattr(layers, "MAX_FILES", 30)
    for number in range(40):
        (layer / f"u/{number:02}").touch()
    found = changes(layer)
    assert len(found) == 30
    assert describe_changes(found).endswith(" (25+ more)")
