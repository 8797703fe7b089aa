"""What models and tools say is inert on a terminal and in a file; the names are the cases'."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(60)
COMMAND = str(Path(sys.executable).with_name("nanocoder"))

HOSTILE = "a\x1b]52;c;eA==\x07b\x1b[2Jc\x9b31md\u202ee\u2066f\u200bg\u2028h\U000e0041i\rj\x7fk\x00l"
INERT = (
    r"a\x1b]52;c;eA==\x07b\x1b[2Jc\x9b31md\u202ee\u2066f\u200bg\u2028h\U000e0041"
    r"i\x0dj\x7fk\x00l"
)
ANSWER = {"text": HOSTILE, "deltas": 7}


def only_text(printed):
    """Return True if nothing but letters, line feeds and tabs was printed."""
    return all(one.isprintable() or one in "\n\t" for one in printed)


def hostile_file(nanocoder):
    # As e.txt of INJ-057: what reads it hands it on to the person who watches.
    (nanocoder.cwd / "e\x1b[31m.txt").write_bytes(HOSTILE.replace("\x00", "").encode())
    return {"path": "e\x1b[31m.txt"}


def test_inj_057_an_answer_in_a_pipe_is_as_inert_as_on_a_terminal(nanocoder):
    done = nanocoder("run", "--model", nanocoder.script(ANSWER), "go")
    assert done.stdout == f"{INERT}\n"


def test_inj_057_an_answer_in_a_file_is_as_inert_as_on_a_terminal(nanocoder, tmp_path):
    with open(tmp_path / "out.log", "wb") as log:
        words = ("run", "--model", nanocoder.script(ANSWER), "go")
        nanocoder(*words, stdout=log, stderr=subprocess.STDOUT)
    assert (tmp_path / "out.log").read_text() == f"{INERT}\n"


def test_a_notice_stands_on_standard_error_beside_the_answer(nanocoder):
    turn = {"text": "Done.", "notice": f"left out: {HOSTILE}"}
    done = nanocoder("run", "--model", nanocoder.script(turn), "go")
    assert done.stdout == "Done.\n"
    assert f"nanocoder: left out: {INERT}" in done.stderr


def test_what_a_call_was_given_is_told_as_text_or_json(nanocoder):
    given = {"todos": [{"content": "one", "status": "pending"}]}
    turn = {"calls": [{"name": "todo_write", "arguments": given}]}
    done = nanocoder("run", "--model", nanocoder.script(turn, {"text": "Done."}), "go")
    told = 'todo_write todos=[{"content": "one", "status": "pending"}]'
    assert f"- {told}\n" in done.stderr
    assert told.replace(" ", ": ", 1) in nanocoder("sessions", "show").stdout


def test_inj_057_what_is_told_of_the_calls_is_inert(nanocoder):
    read = {"calls": [{"name": "read_file", "arguments": hostile_file(nanocoder)}]}
    gone = {"calls": [{"name": "read_file", "arguments": {"path": "gone\x1b]0;x\x07\u202e"}}]}
    done = nanocoder("run", "--model", nanocoder.script(read, gone, ANSWER), "go")
    assert "gone\\x1b]0;x\\x07\\u202e" in done.stderr
    assert only_text(done.stdout + done.stderr)


def test_inj_057_a_called_tools_output_is_inert(nanocoder):
    done = nanocoder("call", "read_file", json.dumps(hostile_file(nanocoder)))
    assert "c31md<U+202E>e" in done.stdout
    assert only_text(done.stdout + done.stderr)
    done = nanocoder("call", "read_file", '{"path": "gone\\u001b[2J\\u202e"}')
    assert done.returncode == 1
    assert only_text(done.stdout + done.stderr)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_inj_057_json_holds_every_character_escaped(nanocoder, form):
    done = nanocoder("run", "--output", form, "--model", nanocoder.script(ANSWER), "go")
    last = json.loads(done.stdout.splitlines()[-1] if form == "jsonl" else done.stdout)
    assert last["text"] == HOSTILE
    assert only_text(done.stdout)


@pytest.mark.parametrize("words", [["run", "--model"], ["call"]])
def test_inj_057_a_terminal_at_one_end_alone_gets_the_same(nanocoder, words):
    """Only standard output is one, as in `echo go | nanocoder run -`."""
    model = nanocoder.script(ANSWER)
    arguments = json.dumps(hostile_file(nanocoder))
    more = [model, "go"] if words[0] == "run" else ["read_file", arguments]
    shown = nanocoder.on_terminal(*words, *more)
    assert ("\\u202ee" if words[0] == "run" else "<U+202E>e") in shown
    assert only_text(shown)


def test_inj_056_an_old_session_is_shown_inert(nanocoder):
    nanocoder("run", "--model", nanocoder.script(ANSWER), f"go {HOSTILE[:-3]}")
    for words in (["sessions", "show"], ["sessions", "list"]):
        done = nanocoder(*words)
        assert "\\x1b]52;c;eA==\\x07b" in done.stdout
        assert only_text(done.stdout)


def test_inj_058_what_the_environment_says_is_shown_inert(nanocoder):
    odd = {"NANOCODER_MODEL": "\x1b[2Jx/\u202ey", "NANOCODER_X": "\x1b[2J"}
    for words in (["doctor"], ["models"], ["config", "show"], ["run", "go"]):
        done = nanocoder(*words, env=odd)
        assert only_text(done.stdout + done.stderr), words


def test_plan_mode_ends_with_the_word_that_nothing_was_changed(nanocoder):
    script = nanocoder.script({"text": "Done: the docstring was added."})
    done = nanocoder("run", "--mode", "plan", "--model", script, "go")
    assert done.stdout == "Done: the docstring was added.\n"
    assert done.stderr == "plan mode: nothing was changed\n"
    done = nanocoder("run", "--model", script, "go")
    assert done.stderr == ""


# What a new user reads


def test_the_doctor_says_much_in_few_lines_and_names_what_is_wrong(nanocoder):
    done = nanocoder("doctor")
    assert "loaded; `nanocoder plugins list` names them" in done.stdout
    assert len(done.stdout.splitlines()) < 15
    checks = json.loads(nanocoder("doctor", "--output", "json").stdout)["checks"]
    assert {"plugin tool-read", "plugin policy-rules"} <= {one["check"] for one in checks}
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[plugins.policy-rules]\ndeny = 3\n")
    done = nanocoder("doctor")
    assert done.returncode == 1
    assert "plugin policy-rules  wrong" in done.stdout


def test_models_says_what_is_missing_only_of_those_that_are_not_ready(nanocoder):
    done = nanocoder("models", env={"ANTHROPIC_API_KEY": "x"})
    ready = next(line for line in done.stdout.splitlines() if line.startswith("anthropic"))
    assert ready.endswith("default  ANTHROPIC_API_KEY")
    assert "set OPENAI_API_KEY" in done.stdout
    assert "--model PROVIDER/MODEL takes another" in done.stdout


class TwoModels(BaseHTTPRequestHandler):
    """A server of models on this machine that has two."""

    def do_GET(self):
        body = json.dumps({"models": [{"name": name, "model": name} for name in "ab"]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Say nothing."""


def test_models_says_that_a_server_on_this_machine_is_ready(nanocoder):
    with ThreadingHTTPServer(("127.0.0.1", 0), TwoModels) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        done = nanocoder("models", env={"ANTHROPIC_API_KEY": "x", "OLLAMA_HOST": address})
        server.shutdown()
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("ollama")]
    assert [row[-1] for row in rows] == ["ready"]


def test_the_shell_completes_names_that_there_are(nanocoder):
    nanocoder("run", "--model", nanocoder.script({"text": "Hello."}), "go")
    (row,) = json.loads(nanocoder("sessions", "list", "--output", "json").stdout)
    script = nanocoder("completion", "bash").stdout
    (nanocoder.home / "completion.bash").write_text(script)
    asked = {
        "_nanocoder_sessions ''": row["id"],
        "_nanocoder_models local": "local/",
        "_nanocoder_plugins tool-re": "tool-read",
        "_nanocoder_tools read": "read_file",
    }
    lines = "; ".join(asked)
    done = nanocoder("-c", f". ~/completion.bash; {lines}", command="bash", env=with_command())
    for wanted in asked.values():
        assert wanted in done.stdout, done.stderr
    assert "-F _shtab_nanocoder nanocoder" in script
    assert "_nanocoder_sessions() {" in nanocoder("completion", "zsh").stdout


def with_command():
    return {"PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}


@pytest.mark.rows(2)
@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(
    "words",
    [("tools",), ("plugins", "list"), ("policy", "explain", "bash", '{"command": "make test"}')],
    ids=lambda words: words[0],
)
def test_a_table_of_the_core_breaks_between_words_in_a_narrow_terminal(nanocoder, words, columns):
    printed = nanocoder.on_terminal(*words, columns=columns)
    table = [line for line in printed.splitlines() if not line.startswith("allow: ")]
    assert max(map(len, table)) <= columns
    whole = nanocoder(*words).stdout.splitlines()
    rows = [line for line in whole if not line.startswith(("allow: ", "tool ", "plugin "))]
    assert {*" ".join(rows).split()} <= {*" ".join(table).split()}
    assert ("plugin: " in printed) == (columns < 80)  # too narrow for columns


def test_the_output_of_a_failing_command_is_printed_as_it_is(nanocoder):
    failing = json.dumps({"command": "echo a problem >&2; exit 3"})
    done = nanocoder("--mode", "auto", "call", "bash", failing)
    assert (done.returncode, done.stdout) == (1, "")
    assert "a problem\n" in done.stderr
    assert "nanocoder: STDERR" not in done.stderr
    asking = json.dumps({"command": "make", "access": "write"})
    refused = nanocoder("--mode", "plan", "call", "bash", asking)
    assert "nanocoder: denied: " in refused.stderr
