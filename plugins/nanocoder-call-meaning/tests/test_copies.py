"""Paths of the original, in a session that works in a copy of it."""

from pathlib import Path

import nanocoder_call_meaning
import pytest
from nanocoder import SessionInfo, hookimpl, tool
from nanocoder_call_meaning.copies import in_the_copy
from nanocoder_testing import opened
from nanocoder_testing.playing import called

ORIGINAL = "/home/me/project"


@tool(risk="safe", effects={"read"})
def read_file(ctx, path: str) -> str:
    """Read a file."""
    return ctx.workspace.read_text(path)


class Files:
    @hookimpl
    def nanocoder_tools(self):
        return [read_file]


def read(arguments, here="/copy", origins=(ORIGINAL,)):
    session = SessionInfo("s", Path(here), origins=tuple(map(Path, origins)))
    return in_the_copy(arguments, session)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        (f"{ORIGINAL}/src/a.py", "src/a.py"),
        (f"{ORIGINAL}//src/", "src"),
        (ORIGINAL, "."),
        (f"{ORIGINAL}/../other", "../other"),
        (f"{ORIGINAL}_old/a.py", f"{ORIGINAL}_old/a.py"),
        ("src/a.py", "src/a.py"),
        ("/copy/a.py", "/copy/a.py"),
        ("/etc/passwd", "/etc/passwd"),
    ],
)
def test_a_path_below_the_original_is_the_one_in_the_copy(path, meant):
    arguments, remarks = read({"path": path})
    assert arguments == {"path": meant}
    assert bool(remarks) == (path != meant)


def test_a_copy_inside_of_its_original_keeps_its_own_paths():
    path = f"{ORIGINAL}/copies/one/a.py"
    assert read({"path": path}, here=f"{ORIGINAL}/copies/one")[0] == {"path": path}


def test_paths_are_found_wherever_a_call_has_some_and_texts_stay():
    text = f"{ORIGINAL}/src/a.py"
    given = {"edits": [{"path": text, "old_string": text}], "paths": [text], "command": text}
    assert read(given)[0] == {
        "edits": [{"path": "src/a.py", "old_string": text}],
        "paths": ["src/a.py"],
        "command": text,
    }


def test_a_session_in_its_own_workspace_is_left_alone():
    given = {"path": f"{ORIGINAL}/a.py"}
    assert read(given, origins=()) == (given, ())


def test_the_model_reads_the_copy_and_is_told_so(tmp_path):
    (tmp_path / "a.py").write_text("copied")
    plugins = {"call-meaning": nanocoder_call_meaning, "files": Files()}
    with opened(tmp_path, plugins=plugins) as (session, _):
        session.set_info(origins=(Path(ORIGINAL),))
        result, _ = called(session, "read_file", {"path": f"{ORIGINAL}/a.py"})
    assert result.output.startswith("copied")
    assert "as a.py, in this copy of the workspace" in result.output
