"""What the model reads instead of a secret, and what it cannot do with that."""

import json

import pytest
from command_line import plugin_in
from nanocoder import Message, ToolResult
from nanocoder_kit_files.redact import Redactor
from nanocoder_policy_rules.redaction import RedactedMessages
from nanocoder_testing.server import ScriptedServer, events

TOKEN = "ghp_" + "c" * 36
PLACEHOLDER = "[secret: github-token]"
DONE = {"text": "Done."}
pytestmark = pytest.mark.timeout(60)


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def result_of(nanocoder, name, **more):
    done = nanocoder("call", name, json.dumps(more), "--mode", "auto", "--output", "json")
    return json.loads(done.stdout)


def test_every_tool_returns_placeholders(nanocoder):
    (nanocoder.cwd / "s.txt").write_text(f"a\nk={TOKEN}\nb\n")
    (nanocoder.cwd / "b.txt").write_text(f"\x1b[1m{TOKEN}\x1b[0m")
    for result in (
        *(result_of(nanocoder, "read_file", path=name) for name in ("s.txt", "b.txt")),
        result_of(nanocoder, "grep", pattern="ghp_|ghp"),
        result_of(nanocoder, "bash", command="cat s.txt b.txt"),
    ):
        text = json.dumps(result, ensure_ascii=False)
        assert PLACEHOLDER in text
        assert "c" * 36 not in text


# INJ-064
def test_results_stay_json_and_the_session_file_parses(nanocoder):
    (nanocoder.cwd / "s.txt").write_text(json.dumps({"k": TOKEN}))
    nanocoder("run", "--model", nanocoder.script(call("read_file", path="s.txt"), DONE), "go")
    [journal] = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")
    lines = journal.read_text().splitlines()
    outputs = [record for line in lines if (record := json.loads(line))["kind"] == "call.finished"]
    assert PLACEHOLDER in json.dumps(outputs)
    assert TOKEN not in journal.read_text()


def test_a_placeholder_never_replaces_the_secret_in_a_file(nanocoder):
    file = nanocoder.cwd / "s.txt"
    content = f"a\nk={TOKEN}\nb\n"
    file.write_text(content)
    rewritten = f"a\nk={PLACEHOLDER}\nchanged\n"
    for name, arguments in (
        ("write_file", {"path": "s.txt", "content": rewritten}),
        ("edit_file", {"path": "s.txt", "old_string": "b", "new_string": PLACEHOLDER}),
        ("bash", {"command": f"echo '{PLACEHOLDER}' > s.txt"}),
    ):
        result = result_of(nanocoder, name, **arguments)
        assert result["status"] == "denied", result
        assert f"{PLACEHOLDER} stands for a value that was hidden from you" in result["output"]
        assert file.read_text() == content
    around = {"path": "s.txt", "old_string": "b\n", "new_string": "changed\n"}
    assert result_of(nanocoder, "edit_file", **around)["status"] == "ok"
    assert file.read_text() == f"a\nk={TOKEN}\nchanged\n"


def test_a_resumed_session_goes_on_and_undo_restores_the_secret(nanocoder):
    file = nanocoder.cwd / "s.txt"
    file.write_text(f"k={TOKEN}\nb\n")
    edit = call("edit_file", path="s.txt", old_string="b\n", new_string="c\n")
    script = nanocoder.script(call("read_file", path="s.txt"), edit, DONE)
    assert nanocoder("run", "--mode", "auto", "--model", script, "go").returncode == 0
    again = nanocoder("run", "--continue", "--model", nanocoder.script(*[DONE] * 5), "and now?")
    assert again.returncode == 0, again.stderr
    assert nanocoder("sessions", "undo", "last", "--yes").returncode == 0
    assert file.read_text() == f"k={TOKEN}\nb\n"


def test_prompts_and_project_files_reach_the_server_without_secrets(nanocoder):
    (nanocoder.cwd / "AGENTS.md").write_text(f"Deploy with {TOKEN}.\n")
    reply = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    with ScriptedServer(events(reply, end=b"data: [DONE]\n\n")) as server:
        variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-of-a-test"}
        prompt = f"Use {TOKEN}, not key-of-a-test"
        nanocoder("run", "--model", "openai/x", prompt, env=variables)
    [body] = [request.body.decode() for request in server.seen if request.body]
    assert TOKEN not in body
    assert f"Use {PLACEHOLDER}, not [secret: OPENAI_API_KEY]" in body
    assert f"Deploy with {PLACEHOLDER}." in body


def test_one_message_always_becomes_the_same_one():
    messages = RedactedMessages(Redactor({}))
    plain = Message("user", "plain")
    secret = Message("user", TOKEN)
    results = Message("tool", results=(ToolResult(TOKEN), ToolResult("x")))
    own = Message("assistant", TOKEN)
    assert messages.redacted([plain, own])[0] is plain
    first = messages.redacted([plain, secret, own, results])
    again = messages.redacted([plain, secret, own, results])
    assert all(new is old for new, old in zip(first, again, strict=True))
    assert (first[1].text, first[2]) == (PLACEHOLDER, own)
    assert [result.output for result in first[3].results] == [PLACEHOLDER, "x"]


def test_only_new_messages_are_looked_at():
    messages = RedactedMessages(Redactor({}))
    transcript = [Message("user", TOKEN), *(Message("user", f"line {n}") for n in range(50))]
    first = messages.redacted(transcript)
    seen = []
    messages._without_secrets = lambda message: seen.append(message) or message  # type: ignore[method-assign]
    latest = Message("user", "latest")
    assert messages.redacted([*transcript, latest]) == [*first, latest]
    assert seen == [latest]


def test_a_secret_stays_hidden_when_a_compaction_replaces_messages_before_it():
    messages = RedactedMessages(Redactor({}))
    last = Message("user", TOKEN)
    messages.redacted([Message("user", "a"), Message("user", "b"), last])
    for transcript in ([last], [Message("user", "a"), Message("user", TOKEN), last]):
        texts = [message.text for message in messages.redacted(transcript)]
        assert TOKEN not in "".join(texts)
        assert texts[-1] == PLACEHOLDER


def test_a_person_can_switch_it_off_and_a_project_cannot(nanocoder):
    (nanocoder.cwd / "s.txt").write_text(f"k={TOKEN}\n")
    table = "[plugins.policy-rules]\nredact_results = false\n"
    (nanocoder.cwd / ".nanocoder").mkdir()
    (nanocoder.cwd / ".nanocoder/config.toml").write_text(table)
    assert nanocoder("config", "trust", "--yes").returncode in {0, 2}
    assert PLACEHOLDER in result_of(nanocoder, "read_file", path="s.txt")["output"]
    own = nanocoder.home / ".config/nanocoder"
    own.mkdir(parents=True, exist_ok=True)
    (own / "config.toml").write_text(table)
    assert TOKEN in result_of(nanocoder, "read_file", path="s.txt")["output"]


@pytest.fixture
def broken_plugin(tmp_path):
    """Return an environment with a plugin that fails, and names a token while it does."""
    return plugin_in(
        tmp_path / "site", "tool-broken", f"raise RuntimeError('cannot use {TOKEN}')\n"
    )


def test_an_error_of_a_provider_reaches_no_stream_with_a_secret(nanocoder):
    error = f"no answer from https://bot:hunter2x@ai.example with {TOKEN}"
    for form in ("text", "json", "jsonl"):
        script = nanocoder.script(*[{"error": error}] * 9)
        done = nanocoder("run", "--model", script, "--output", form, "go")
        assert done.returncode != 0
        for text in (done.stdout, done.stderr):
            assert "c" * 36 not in text, form
            assert "hunter2x" not in text, form
    script = nanocoder.script(*[{"error": error}] * 9)
    assert PLACEHOLDER in nanocoder("run", "--model", script, "go").stderr


def test_errors_notices_and_tracebacks_name_no_secret(nanocoder, broken_plugin):
    debug = {**broken_plugin, "NANOCODER_DEBUG": "1"}
    for words in (["tools"], ["doctor"], ["call", "list_files", "{}"]):
        done = nanocoder(*words, env=debug)
        assert "c" * 36 not in done.stdout + done.stderr, words
    traced = nanocoder("tools", env=debug).stderr
    assert "Traceback (most recent call last):" in traced
    assert f"RuntimeError: cannot use {PLACEHOLDER}" in traced
    unknown = nanocoder("call", TOKEN, "{}").stderr
    assert PLACEHOLDER in unknown
    assert TOKEN not in unknown


@pytest.fixture
def wrong_configuration(nanocoder):
    """Return a person's folder of settings, and settings that are refused for naming a token."""
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True, exist_ok=True)
    return folder, f'model = ["{TOKEN}"]\n'


def test_errors_from_before_plugins_are_known_name_no_secret(nanocoder, wrong_configuration):
    odd_number = ["run", "--max-turns", TOKEN, "go"]
    for words in (["run", f"--key={TOKEN}"], odd_number, ["--cwd", TOKEN, "tools"]):
        error = nanocoder(*words).stderr
        assert (PLACEHOLDER in error, TOKEN in error) == (True, False), words
    folder, text = wrong_configuration
    (folder / "config.toml").write_text(text)
    for words in (["tools"], [TOKEN], ["doctor"], ["doctor", "--output", "json"]):
        done = nanocoder(*words)
        shown = done.stdout + done.stderr
        assert (PLACEHOLDER in shown, TOKEN in shown) == (True, False), words


def test_what_no_lock_names_is_not_run_to_redact_an_error(nanocoder, wrong_configuration):
    folder, text = wrong_configuration
    assert nanocoder("plugins", "lock").returncode == 0
    (folder / "config.toml").write_text(text)
    assert PLACEHOLDER in nanocoder("tools").stderr
    lock = folder / "plugins.lock"
    lock.write_text(lock.read_text().replace("nanocoder-policy-rules", "nanocoder-another"))
    assert TOKEN in nanocoder("tools").stderr
