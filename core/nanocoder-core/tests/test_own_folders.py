"""With the home directory as workspace, tools read nothing of what nanocoder keeps there."""

import pwd

import pytest
from nanocoder import open_session


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with a settings file and another session's journal."""
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    person = pwd.struct_passwd(("person", "x", 1000, 1000, "", str(tmp_path), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: person)
    sessions = tmp_path / ".local/state/nanocoder/sessions"
    sessions.mkdir(parents=True)
    (sessions / "other.jsonl").write_text('{"said": "needle-in-journal"}\n')
    config = tmp_path / ".config/nanocoder"
    config.mkdir(parents=True)
    (config / "notes.toml").write_text("# needle-in-settings\n")
    (tmp_path / "plain.txt").write_text("needle-in-plain\n")
    (tmp_path / "link").symlink_to(".local/state/nanocoder/sessions")
    return tmp_path


def output(home, tool, arguments):
    with open_session(home, mode="ask", persist=False) as session:
        events = list(session.call(tool, arguments))
    return next(str(one.data["output"]) for one in events if one.kind == "call.returned")


READS = [
    ("read_file", {"path": ".local/state/nanocoder/sessions/other.jsonl"}),
    ("read_file", {"path": "{home}/.local/state/../state/nanocoder/sessions/other.jsonl"}),
    ("read_file", {"path": "link/other.jsonl"}),
    ("read_file", {"path": ".config/nanocoder/notes.toml"}),
    ("list_files", {"path": ".local/state/nanocoder"}),
    ("list_files", {"path": "link"}),
    ("grep", {"pattern": "needle", "path": ".local"}),
    ("grep", {"pattern": "needle", "path": ".config/nanocoder/notes.toml"}),
    ("bash", {"command": "cat .local/state/nanocoder/sessions/other.jsonl"}),
    ("bash", {"command": "cat link/other.jsonl"}),
    ("bash", {"command": "grep -r needle .config/nanocoder"}),
]


@pytest.mark.rows(4)
@pytest.mark.parametrize(("tool", "arguments"), READS)
def test_no_tool_reads_what_nanocoder_keeps(home, tool, arguments):
    arguments = {name: text.format(home=home) for name, text in arguments.items()}
    text = output(home, tool, arguments)
    assert "needle-in" not in text
    assert "other.jsonl " not in text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep", {"pattern": "needle-in", "output": "files"}),
        ("glob", {"pattern": "**/*.*"}),
        ("list_files", {"path": ".", "depth": 6}),
    ],
)
def test_searches_leave_it_out(home, tool, arguments):
    text = output(home, tool, arguments)
    assert "plain.txt" in text
    assert "other.jsonl" not in text
    assert "notes.toml" not in text
