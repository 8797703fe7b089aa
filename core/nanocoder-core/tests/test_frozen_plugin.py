"""A plugin that was built against the first published interface goes on working."""

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest
from nanocoder import Effect, Plugins, open_session
from nanocoder_testing.playing import agree, called

FROZEN = Path(__file__).parent / "frozen"
WHEEL = FROZEN / "acme_nanocoder_frozen-0.1.0-py3-none-any.whl"
DIGEST = "48b0ca6afa55a8cc4c412ca08bbbbfe0317ba922305780aa64b6ca621ba09904"

pytestmark = [pytest.mark.contract("CO-08"), pytest.mark.timeout(60)]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Install the wheel as pip does it: unpacked beside other packages."""
    folder = tmp_path / "site"
    zipfile.ZipFile(WHEEL).extractall(folder)
    monkeypatch.syspath_prepend(str(folder))
    # For the process that describes it.
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield folder
    sys.modules.pop("acme_frozen", None)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    for name in ("a.txt", "b.txt", "locked.txt"):
        (made / name).write_text(f"{name}\n", encoding="utf-8")
    return made


@pytest.fixture
def session(site, folder, tmp_path):
    plugins = Plugins.installed(tmp_path / "plugins.json", sites=[str(site)])
    assert plugins.set_aside == {}
    with open_session(folder, plugins=plugins, persist=False, approve=agree) as opened:
        yield opened


def test_nobody_built_it_anew():
    assert hashlib.sha256(WHEEL.read_bytes()).hexdigest() == DIGEST
    source = FROZEN / "source/src/acme_frozen/__init__.py"
    assert zipfile.ZipFile(WHEEL).read("acme_frozen/__init__.py") == source.read_bytes()


def test_it_is_described_as_it_was(session):
    tools = session.tools
    assert list(tools) == ["append_line", "copy_first_line", "first_line"]
    assert {name: (str(one.risk), one.is_read_only) for name, one in tools.items()} == {
        "append_line": ("medium", False),
        "copy_first_line": ("medium", False),
        "first_line": ("safe", True),
    }
    assert tools["copy_first_line"].composed_of == ("first_line", "append_line")
    assert tools["append_line"].effects == {Effect.WRITE}
    chars = tools["first_line"].parameters["properties"]["chars"]
    assert (chars["type"], chars["minimum"], chars["maximum"], chars["default"]) == (
        "integer",
        1,
        200,
        80,
    )
    assert tools["first_line"].parameters["required"] == ["path"]


def test_its_tools_read_write_and_call_each_other(session, folder):
    result, _ = called(session, "first_line", {"path": "a.txt", "chars": 3})
    assert (result.output, result.title, result.data) == ("a.t", "a.txt", {"line": "a.t"})
    result, events = called(session, "append_line", {"path": "a.txt", "line": "more"})
    assert (result.output, result.is_error) == ("added to a.txt", False)
    assert [one.data["text"] for one in events if one.kind == "call.progress"] == [
        "adding to a.txt"
    ]
    moved = {"source": "b.txt", "destination": "a.txt"}
    result, events = called(session, "copy_first_line", moved)
    assert result.output == "added to a.txt"
    assert [one.kind for one in events].count("call.approved") == 1
    assert (folder / "a.txt").read_text(encoding="utf-8") == "a.txt\nmore\nb.txt\n"


def test_its_errors_and_the_check_of_its_arguments_are_what_they_were(session, folder):
    (folder / "empty.txt").touch()
    result, _ = called(session, "first_line", {"path": "empty.txt"})
    assert (result.error_class, result.output) == ("empty_file", "empty.txt is empty")
    result, _ = called(session, "first_line", {"path": "a.txt", "chars": 500})
    assert result.error_class == "invalid_arguments"
    result, _ = called(session, "first_line", {"path": "../a.txt"})
    assert result.error_class == "path_outside_workspace"


def test_its_policy_judges_its_own_calls_and_their_steps(session, folder):
    result, _ = called(session, "append_line", {"path": "locked.txt", "line": "x"})
    assert (result.error_class, "locked.txt is locked" in result.output) == ("denied", True)
    moved = {"source": "b.txt", "destination": "locked.txt"}
    result, _ = called(session, "copy_first_line", moved)
    assert result.error_class == "denied"
    assert (folder / "locked.txt").read_text(encoding="utf-8") == "locked.txt\n"
