"""Plans of an undo: changes and copies that were tampered with are named and left alone."""

import os

import pytest
from nanocoder_files import FileChange, Workspace, plan_undo


@pytest.mark.parametrize("change", ["put", "on_disk", "states", "_class__"])
def test_a_change_of_a_kind_that_there_is_not_is_named(tmp_path, change):
    with Workspace(tmp_path) as workspace:
        announced = FileChange(1, str(tmp_path), change, "a.txt")
        plan = plan_undo(workspace, None, [announced])
    assert plan.problems == [f"a.txt: a change of an unknown kind, {change!r}"]


def test_a_copy_that_became_a_pipe_is_not_waited_for(tmp_path):
    folder = "0" * 32
    (tmp_path / folder).mkdir()
    os.mkfifo(tmp_path / folder / "copy")
    with Workspace(tmp_path) as workspace:
        announced = FileChange(
            *(1, str(tmp_path), "delete", "a.txt"), before="0", backup=f"{folder}/copy"
        )
        plan = plan_undo(workspace, tmp_path, [announced])
    assert plan.problems == ["the earlier copy of a.txt is no longer kept"]


def test_a_copy_that_is_larger_than_any_file_here_is_named_and_not_read(tmp_path):
    folder = "0" * 32
    (tmp_path / folder).mkdir()
    with (tmp_path / folder / "copy").open("wb") as copy:
        copy.truncate(3_000_000_000_000)  # a file with a hole: no memory would hold it
    with Workspace(tmp_path) as workspace:
        announced = FileChange(
            *(1, str(tmp_path), "delete", "a.txt"), before="0", backup=f"{folder}/copy"
        )
        plan = plan_undo(workspace, tmp_path, [announced])
    (problem,) = plan.problems
    assert "has 3,000,000,000,000 bytes; at most 50,000,000 are restored" in problem
