"""A file that changed since the session read it is not changed, moved or deleted."""

import json
from importlib.metadata import entry_points

import pytest
from nanocoder_testing import play
from nanocoder_testing.playing import agree

pytestmark = pytest.mark.timeout(60)
TEXT = "one = 1\ntwo = 2\nthree = 3\n"
OTHER = "# somebody else\none = 1\ntwo = 22\nthree = 3\n"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-one = 1\n+one = 11\n*** End Patch\n"
REMOVAL = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch\n"
CHANGES = [
    ("edit_file", {"path": "a.py", "old_string": "one = 1", "new_string": "one = 11"}),
    ("edit_file", {"path": "a.py", "edits": [{"start_line": 1, "new_string": "x"}]}),
    ("apply_patch", {"patch": PATCH}),
    ("apply_patch", {"patch": REMOVAL}),
    ("write_file", {"path": "a.py", "content": "one = 11\n"}),
    ("move_file", {"source": "a.py", "destination": "c.py"}),
    ("move_file", {"source": "b.py", "destination": "a.py", "replace": True}),
    ("delete_file", {"path": "a.py"}),
]


@pytest.mark.contract("A5")
@pytest.mark.contract("NT-62")
@pytest.mark.parametrize(("name", "arguments"), CHANGES)
def test_what_changed_since_it_was_read_is_left_alone(project, call, name, arguments):
    (project / "a.py").write_text(TEXT)
    (project / "b.py").write_text("b\n")
    assert call("read_file", path="a.py")["status"] == "ok"
    (project / "a.py").write_text(OTHER)
    refused = call(name, **arguments)
    assert refused["error_class"] == "stale_read"
    assert "Read it again" in refused["output"]
    assert (project / "a.py").read_text() == OTHER
    assert (project / "b.py").read_text() == "b\n"
    assert call("read_file", path="a.py")["status"] == "ok"
    assert call(name, **arguments)["status"] == "ok"


@pytest.mark.contract("A5")
def test_a_large_file_counts_as_read_too(project, call):
    path = project / "large.txt"
    path.write_text("line\n" * 400_000)
    assert call("read_file", path="large.txt", limit=5)["status"] == "ok"
    edits = [{"start_line": 1, "new_string": "first"}]
    assert call("edit_file", path="large.txt", edits=edits)["status"] == "ok"
    with path.open("a") as file:
        file.write("more\n")
    edits = [{"start_line": 1, "new_string": "second"}]
    assert call("edit_file", path="large.txt", edits=edits)["error_class"] == "stale_read"


@pytest.mark.contract("A5")
@pytest.mark.parametrize(("name", "arguments"), [CHANGES[0], CHANGES[2]])
def test_an_exact_match_of_a_file_that_was_never_read_may_be_replaced(
    project, call, name, arguments
):
    (project / "a.py").write_text(TEXT)
    assert call(name, **arguments)["status"] == "ok"
    assert "one = 11\n" in (project / "a.py").read_text()


def test_what_the_session_changed_itself_is_known(project, call):
    (project / "a.py").write_text(TEXT)
    call("read_file", path="a.py")
    for number in range(2, 5):
        edit = {"old_string": f"one = {number - 1}", "new_string": f"one = {number}"}
        assert call("edit_file", path="a.py", **edit)["status"] == "ok"
    assert call("write_file", path="a.py", content="x = 1\n")["status"] == "ok"
    assert call("delete_file", path="a.py")["status"] == "ok"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "echo hi", "timeout": 0, "workdir": ""}),
        ("read_file", {"path": "a.py", "offset": 0, "limit": 0}),
        ("grep", {"pattern": "one", "limit": 0, "output": ""}),
    ],
)
def test_an_option_that_is_zero_or_empty_and_may_not_be_counts_as_not_given(
    project, call, name, arguments
):
    (project / "a.py").write_text(TEXT)
    result = call(name, **arguments)
    assert result["status"] == "ok", result["output"]


def test_what_is_required_or_just_too_small_is_refused(project, call):
    assert call("bash", command="true", timeout=-1)["error_class"] == "invalid_arguments"
    assert call("delete_file", path="")["error_class"] == "invalid_arguments"
    assert call("bash", command="")["error_class"] == "invalid_arguments"


def test_a_model_replaces_a_compact_notebook_only_after_it_read_the_cells(tmp_path):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [f"{n}"]} for n in range(30)]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "n.ipynb").write_text(json.dumps(book))
    plugins = {
        entry.name: entry.load()
        for entry in entry_points(group="nanocoder")
        if entry.name in {"tool-read", "tool-write"}
    }
    new = json.dumps({**book, "cells": []})
    write = ("write_file", {"path": "n.ipynb", "content": new})
    turns = [[write], [("read_file", {"path": "n.ipynb"})], [write], "done"]
    played = play(tmp_path, turns, plugins=plugins, approve=agree)
    assert [result.error_class for result in played.results] == ["not_read", "", ""]
    assert (tmp_path / "n.ipynb").read_text() == new
