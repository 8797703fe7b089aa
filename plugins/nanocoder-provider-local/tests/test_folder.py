"""A small model reads which files there are; a large one does not."""

from pathlib import Path
from typing import Literal

import nanocoder_provider_local
import pytest
from nanocoder_testing import play
from nanocoder_testing.scripted import Scripted


def system_turn(folder: Path, profile: Literal["full", "small"]) -> str:
    model = Scripted(["Hello."], profile=profile)
    play(folder, [], plugins={"provider-local": nanocoder_provider_local}, model=model)
    return model.requests[0].system


def test_the_files_that_git_does_not_ignore_are_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "node_modules").mkdir()
    for name in ("src/b.py", "a.py", "x.log", "node_modules/c.js"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    line = "Files in the current directory: .gitignore, a.py, src/b.py."
    assert system_turn(tmp_path, "small").endswith(line)


def test_a_large_folder_is_cut_short(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"f{number:02}.txt").write_text("1\n")
    assert system_turn(tmp_path, "small").endswith("f38.txt, f39.txt and 20 more.")


@pytest.mark.parametrize(("profile", "name"), [("full", "a.py"), ("small", "")])
def test_nothing_is_added_without_need(
    profile: Literal["full", "small"], name: str, tmp_path: Path
) -> None:
    if name:
        (tmp_path / name).write_text("1\n")
    assert "Files in the current directory" not in system_turn(tmp_path, profile)
