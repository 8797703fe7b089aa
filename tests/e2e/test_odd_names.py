"""Names that could pass for other names, or for lines of output, are shown escaped everywhere."""

import os
from pathlib import Path
from typing import Any

import pytest
from nanocoder import Workspace, escape_path, open_session, unescape_path
from nanocoder_kit_files.glob.git_ignore import GitIgnore, list_files, walk

ODD = [
    "a\nREADME.md:1: password=hunter2",
    "e\x1b[31mvil.txt",
    "gnp\u202etxt.exe",
    "tab\tname",
    "back\\x1bslash",
    "line\u2028end",
    os.fsdecode(b"latin\xe9"),
    'README.md: binary file matches (found "\\0" byte around offset 0)\nREADME.md',
]
FOLDER = "d\n\x1b[1m"
HIDDEN = {"\x1b", "\u202e", "\u2028", "\r"}


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("needle\0 in a binary file")
    (tmp_path / "plain.txt").write_text("needle plain\n")
    folder = tmp_path / FOLDER
    folder.mkdir()
    for number, name in enumerate(ODD):
        (tmp_path / name).write_text(f"needle {number}\n")
        (folder / name).write_text(f"needle below {number}\n")
    return tmp_path


def run(ground: Path, name: str, **arguments: Any) -> str:
    with open_session(ground, mode="auto", persist=False) as session:
        events = list(session.call(name, arguments))
    data = next(one.data for one in events if one.kind == "call.returned")
    assert "\n" not in data.get("title", "")
    refuse_hidden(data.get("title", ""))
    return str(data["output"])


def refuse_hidden(output: str) -> None:
    assert not HIDDEN & set(output)
    output.encode()


LISTINGS = {
    "list_files": {"path": "."},
    "glob": {"pattern": "**/*"},
    "grep": {"pattern": "needle", "output": "files"},
}


@pytest.mark.parametrize("tool", LISTINGS)
def test_each_name_is_listed_escaped_on_one_line(ground, tool):
    output = run(ground, tool, **LISTINGS[tool])
    refuse_hidden(output)
    lines = output.splitlines()
    for name in ODD:
        assert sum(escape_path(name) in line for line in lines) >= 1, name
    assert not any(line.startswith("README.md:1: password") for line in lines)


def test_grep_forges_no_line_by_a_name(ground):
    output = run(ground, "grep", pattern="needle")
    refuse_hidden(output)
    for number, name in enumerate(ODD):
        assert f"{escape_path(name)}:1: needle {number}" in output.splitlines()
    assert not any(line.startswith("README.md:1") for line in output.splitlines())


@pytest.mark.rows(3)
@pytest.mark.parametrize("name", ODD)
def test_a_listed_name_can_be_read_and_changed(ground, name):
    path = escape_path(name)
    for listed in (path, f"{escape_path(FOLDER)}/{path}"):
        raw = ground / unescape_path(listed)
        output = run(ground, "read_file", path=listed)
        refuse_hidden(output)
        assert "needle" in output
        output = run(ground, "edit_file", path=listed, old_string="needle", new_string="thread")
        refuse_hidden(output)
        assert raw.read_text().startswith("thread")
        refuse_hidden(run(ground, "write_file", path=f"{listed}.new", content="x\n"))
        assert Path(f"{raw}.new").read_text() == "x\n"
        refuse_hidden(run(ground, "read_file", path=f"{listed}.none"))
    with Workspace(ground) as workspace:
        workspace.delete(path)
    assert not (ground / name).is_symlink()
    assert not (ground / name).exists()


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb", "plain", "back\\x1bslash"])
def test_a_walk_names_everything_as_it_is_read_back(tmp_path, name):
    folder = tmp_path / name
    (folder / name).mkdir(parents=True)
    (folder / name / name).write_text("here")
    (folder / ".gitignore").write_text("ignored*\n")
    (folder / "ignored\n").write_text("")
    path = "/".join([escape_path(name)] * 3)
    with Workspace(tmp_path) as workspace:
        walked = [entry.path for entry in walk(workspace) if entry.kind == "file"]
        assert walked == [f"{escape_path(name)}/.gitignore", path]
        found = [each.path(name) for each in list_files(workspace) for name in each.names]
        assert found == walked
        assert [entry.path for entry in workspace.scan("/".join(path.split("/")[:2]))] == [path]
        assert workspace.read_text(path) == "here"
        assert workspace.relative(path) == workspace.resolve(path) == path
        assert GitIgnore(workspace).ignores(f"{escape_path(name)}/ignored\\x0a")
