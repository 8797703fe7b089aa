"""A program of the workspace is known as one, also where PATH changes under the same name."""

import os
import shutil

import pytest


@pytest.fixture
def folders(tmp_path, tmp_path_factory, monkeypatch):
    """Return a folder of PATH outside of the workspace, and one in it; each has a `cat`."""
    outside, inside = tmp_path_factory.mktemp("bin") / "first", tmp_path / "bin"
    for folder in (outside, inside):
        folder.mkdir()
        shutil.copy(shutil.which("cat"), folder / "cat")
    (tmp_path / "a.py").write_text("x\n")
    monkeypatch.setenv("PATH", f"{outside}:{os.defpath}")
    return outside, inside


def read(judge):
    return str(judge("bash", {"command": "cat a.py"}).decision)


def test_a_folder_that_becomes_a_link_into_the_workspace_is_noticed(folders, judge):
    outside, inside = folders
    assert read(judge) == "allow"
    outside.rename(outside.with_name("moved"))
    outside.symlink_to(inside)
    assert read(judge) == "ask"
    outside.unlink()
    outside.with_name("moved").rename(outside)
    assert read(judge) == "allow"


def test_a_program_that_becomes_a_link_into_the_workspace_is_noticed(folders, judge):
    outside, inside = folders
    assert read(judge) == "allow"
    (outside / "cat").unlink()
    (outside / "cat").symlink_to(inside / "cat")
    assert read(judge) == "ask"


def test_the_first_folder_with_the_program_counts(folders, judge, monkeypatch):
    outside, inside = folders
    monkeypatch.setenv("PATH", f"bin:{inside.parent}/none:{inside}:{outside}")
    assert read(judge) == "ask"
    (inside / "cat").chmod(0o644)
    assert read(judge) == "allow"
    (inside / "cat").unlink()
    (inside / "cat").mkdir()
    assert read(judge) == "allow"


def test_more_folders_than_are_kept_are_judged_like_the_first(folders, judge, monkeypatch):
    outside, inside = folders
    for number in range(300):
        folder = outside.with_name(f"f{number}")
        folder.symlink_to(inside if number % 2 else outside)
        monkeypatch.setenv("PATH", str(folder))
        assert read(judge) == ("ask" if number % 2 else "allow")
