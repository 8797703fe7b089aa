"""`nanocoder context`: what fills the window of a new or of a stored session."""

import json

import pytest

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def model(nanocoder):
    (nanocoder.cwd / "hello.py").write_text("print('hello')\n" * 50)
    read = {"calls": [{"name": "read_file", "arguments": {"path": "hello.py"}}]}
    return nanocoder.script(read, {"text": "It prints hello."})


@pytest.mark.contract("H9")
def test_each_source_of_a_new_session_is_shown_and_no_session_is_kept(nanocoder, model):
    (nanocoder.cwd / "AGENTS.md").write_text("Be brief.\n")
    done = nanocoder("context", "--model", model)
    assert done.returncode == 0, done.stderr
    for text in ("system prompt", "files in it", "AGENTS.md", "tools", "together", "% of"):
        assert text in done.stdout
    assert "conversation" not in done.stdout
    assert not list((nanocoder.home / ".local/state/nanocoder").glob("sessions/*"))


@pytest.mark.contract("H9")
def test_the_conversation_and_the_results_of_a_stored_session_are_counted(nanocoder, model):
    assert nanocoder("run", "--model", model, "What does it print?").returncode == 0
    journal = next((nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl"))
    before = journal.read_bytes()
    done = nanocoder("context", "--session", "last", "--model", model, "--output", "json")
    data = json.loads(done.stdout)
    assert data["session_id"] == journal.stem
    kinds = {(source["kind"], source["name"]) for source in data["sources"]}
    assert {("history", "typed"), ("results", "read_file")} <= kinds
    assert data["used_tokens"] == sum(source["tokens"] for source in data["sources"])
    assert journal.read_bytes() == before


def test_without_a_model_the_rest_is_shown_and_a_wrong_session_is_an_error(nanocoder):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins]\ndisable = ["provider-local"]\n')
    done = nanocoder("context")
    assert done.returncode == 0
    assert "together" in done.stdout
    assert "No model is configured" in done.stderr
    assert "an assumed window of 32,768 tokens" in done.stderr
    done = nanocoder("context", "--session", "nope")
    assert done.returncode == 2
    assert "no session 'nope'" in done.stderr


def test_a_model_that_was_named_has_to_be_there(nanocoder):
    done = nanocoder("context", "--model", "scripted/missing.json")
    assert (done.returncode, done.stdout) == (4, "")
    assert "missing.json" in done.stderr


def test_tools_that_requests_leave_out_are_not_counted(nanocoder, model):
    """The count is that of the tools in the request that is really sent."""
    done = nanocoder("context", "--model", model, "--output", "json")
    sources = json.loads(done.stdout)["sources"]
    counted = {source["name"] for source in sources if source["kind"] == "tools"}
    tokens = sum(source["tokens"] for source in sources if source["kind"] == "tools")
    assert {"tool-read", "tool-search"} <= counted
    assert "tool-todo" not in counted
    assert tokens < 1_900
