"""Plans of an undo: changes and copies that were tampered with are named and left alone."""

import os
from hashlib import sha256

import pytest
from nanocoder import Workspace
from nanocoder_kit_sessions.file_change import FileChange
from nanocoder_kit_sessions.undo_plan import plan_undo
from nanocoder_kit_sessions.undo_steps import Step, UndoPlan, carry_out


def announced(path="a.txt", **fields):
    record = {"root": "", "path": path, "target": "", "after": {"kind": "nothing"}, **fields}
    return FileChange.parse(1, record, "call-1")


def deleted(root, backup):
    before = {"kind": "file", "digest": "0", "size": 1}
    return announced(root=str(root), before=before, backup=backup)


@pytest.mark.parametrize("before", ["0", None, [], {}, {"kind": "file", "owner": [1]}, {"size": 1}])
def test_a_change_that_an_earlier_version_recorded_is_named(tmp_path, before):
    with Workspace(tmp_path) as workspace:
        plan = plan_undo(workspace, tmp_path, [announced(root=str(tmp_path), before=before)])
    problem = plan.blocked["a.txt"]
    assert problem.startswith("was changed with an earlier version of nanocoder, whose")
    assert str(tmp_path) in problem


@pytest.mark.parametrize("kind", ["put", "on_disk", "states", "_class__"])
def test_a_change_of_a_kind_that_there_is_not_is_named(tmp_path, kind):
    with Workspace(tmp_path) as workspace:
        (tmp_path / "a.txt").write_text("a")
        change = announced(root=str(tmp_path), before={"kind": kind}, after={"kind": kind})
        plan = plan_undo(workspace, None, [change])
    assert plan.blocked == {"a.txt": "has been changed since"}


def test_a_copy_that_became_a_pipe_is_not_waited_for(tmp_path):
    folder = "0" * 32
    (tmp_path / folder).mkdir()
    os.mkfifo(tmp_path / folder / "copy")
    with Workspace(tmp_path) as workspace:
        plan = plan_undo(workspace, tmp_path, [deleted(tmp_path, f"{folder}/copy")])
    assert plan.blocked == {"a.txt": "cannot be restored: its earlier copy is no longer kept"}


def test_a_copy_that_is_larger_than_any_file_here_is_named_and_not_read(tmp_path):
    folder = "0" * 32
    (tmp_path / folder).mkdir()
    with (tmp_path / folder / "copy").open("wb") as copy:
        copy.truncate(3_000_000_000_000)  # a file with a hole: no memory would hold it
    with Workspace(tmp_path) as workspace:
        plan = plan_undo(workspace, tmp_path, [deleted(tmp_path, f"{folder}/copy")])
    (problem,) = plan.blocked.values()
    assert "has 3,000,000,000,000 bytes; at most 50,000,000 are restored" in problem


def test_an_undo_that_was_killed_is_repeated_with_moves_between_equal_steps(tmp_path):
    content = b"text\n"
    nothing, backup = {"kind": "nothing"}, f"{'0' * 32}/copy"
    file = {"kind": "file", "digest": sha256(content).hexdigest(), "size": len(content)}
    (tmp_path / "backups" / ("0" * 32)).mkdir(parents=True)
    (tmp_path / "backups" / backup).write_bytes(content)
    root = tmp_path / "work"
    root.mkdir()
    rows = [  # a file is written, moved and written once more; the undo has taken all of it back
        ("n.txt", "", nothing, file),
        ("n.txt", "m.txt", nothing, file),
        ("n.txt", "", nothing, file),
        ("n.txt", "", file, nothing),
        ("m.txt", "n.txt", nothing, file),
        ("n.txt", "", file, nothing),
    ]
    changes = []
    for number, (path, target, before, after) in enumerate(rows, 1):
        places = {"root": str(root), "path": path, "target": target, "backup": backup}
        record = {**places, "before": before, "after": after}
        changes.append(FileChange.parse(number, record, "call-1"))
    with Workspace(root) as workspace:
        plan = plan_undo(workspace, tmp_path / "backups", changes)
        assert plan.blocked == {}
        assert carry_out(plan, workspace) == {}
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("count", [5, 6])
def test_many_files_that_go_are_named_on_one_line(count):
    names = [f"f{number}" for number in range(count)]
    lines = [*UndoPlan(steps=[Step("remove", name) for name in reversed(names)]).lines()]
    assert lines == (
        [f"remove 6 files: {', '.join(names)}"]
        if count > 5
        else [f"remove {name}" for name in reversed(names)]
    )
