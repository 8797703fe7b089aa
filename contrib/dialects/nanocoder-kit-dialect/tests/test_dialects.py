"""What holds under every dialect that is installed: the same tools, rules and journal behind it."""

import json

import pytest
from nanocoder import open_session

# What each calls the shell and the tool that writes, and how that one's path is called.
DIALECTS = {
    "m31a": ("Bash", "FileWrite", "path"),
    "nano": ("bash", "write", "path"),
    "opencli": ("bash", "write", "file_path"),
    "s02": ("bash", "write_file", "path"),
    "tutorial": ("bash", "write_file", "path"),
}
RULES = 'plugins.policy-rules.deny = ["bash(touch)", "write_file(secrets/**)"]\n'


@pytest.fixture(params=[*DIALECTS, ""], ids=lambda name: name or "none")
def dialect(request):
    return request.param


@pytest.fixture
def run(home, tmp_path, dialect):
    """Run calls in a session as a user has it: installed plugins and a file of settings."""
    folder = tmp_path / "work"
    folder.mkdir()
    config = home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(RULES)

    def run(*calls):
        script = tmp_path / "turns.json"
        scripted = [{"name": name, "arguments": arguments} for name, arguments in calls]
        script.write_text(json.dumps({"turns": [{"calls": scripted}, {"text": "Done."}]}))
        options = {"model": f"scripted/{script}", "mode": "auto", "persist": False}
        with open_session(folder, dialect=dialect, **options) as session:
            events = list(session.run("go"))
            results = [result for message in session.messages for result in message.results]
        assert session.report.text == "Done."
        return folder, events, results

    return run


@pytest.mark.contract("NT-88")
def test_one_rule_stops_the_call_whatever_the_model_calls_it(tmp_path, run, dialect):
    shell, write, path = DIALECTS.get(dialect, ("bash", "write_file", "path"))
    folder, events, results = run(
        (shell, {"command": "echo x && touch made"}),
        (write, {path: str(tmp_path / "work/secrets/key"), "content": "x"}),
    )
    assert list(folder.iterdir()) == []
    assert [result.error_class for result in results] == ["denied", "denied"]
    assert [event.kind for event in events].count("call.denied") == 2
    assert "call.started" not in [event.kind for event in events]


def test_what_no_rule_forbids_runs_and_is_told_by_its_canonical_name(run, dialect):
    shell = DIALECTS.get(dialect, ("bash",))[0]
    folder, events, results = run((shell, {"command": "echo made > made"}))
    assert (folder / "made").read_text() == "made\n"
    assert [result.is_error for result in results] == [False]
    assert [event.data["tool"] for event in events if event.kind == "call.started"] == ["bash"]
