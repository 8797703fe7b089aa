"""Answers that have to fit a JSON Schema, and the limits of a run, as programs see them."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from nanocoder import UsageError
from nanocoder_ui_json.structured import Check, load_schema

pytestmark = pytest.mark.timeout(60)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["name", "lines"],
    "additionalProperties": False,
}
GOOD = '{"name": "hello.py", "lines": 1}'
WRONG = '{"name": "hello.py", "lines": "one"}'


def outcome(process):
    out, err = process.communicate(timeout=50)
    return process.returncode, out.decode(), err.decode()


@pytest.fixture
def asked(run):
    """Run with the schema; returns exit code, standard output and standard error."""
    return lambda form, *turns: outcome(run(form, *turns, more=["--schema", json.dumps(SCHEMA)]))


@pytest.mark.contract("J4")
def test_an_answer_that_fits_is_in_the_report_as_data(asked):
    code, out, _ = asked("json", {"text": f"```json\n{GOOD}\n```"})
    report = json.loads(out)
    assert (code, report["answer"]) == (0, {"name": "hello.py", "lines": 1})
    assert report["turns"] == 1


@pytest.mark.contract("J4")
def test_a_wrong_answer_is_asked_for_once_more_with_the_problem(asked):
    code, out, _ = asked("jsonl", {"text": WRONG}, {"text": GOOD})
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert events[-1]["answer"] == {"name": "hello.py", "lines": 1}
    [again] = [event["prompt"] for event in events if event["type"] == "run.steered"]
    assert 'lines: "one" is not of type "integer"' in again
    assert [event["text"] for event in events if event["type"] == "text"] == [GOOD]


@pytest.mark.contract("J4")
@pytest.mark.parametrize("wrong", [WRONG, "I do not know."])
def test_a_second_wrong_answer_fails_the_run(asked, tmp_path, wrong):
    code, out, _ = asked("json", {"text": WRONG}, {"text": wrong}, {"text": GOOD})
    report = json.loads(out)
    assert (code, report["answer"], report["turns"]) == (1, None, 2)
    assert report["error"]["class"] == "answer_does_not_fit"
    assert report["stop_reason"] == "failed"
    [journal] = tmp_path.glob("state/nanocoder/sessions/*.jsonl")
    records = map(json.loads, journal.read_text().splitlines())
    ends = [record["data"] for record in records if record["kind"].endswith(".finished")]
    fields = ("stop_reason", "error", "answer")
    for end in ends[-2:]:
        assert [end[name] for name in fields] == [report[name] for name in fields]


@pytest.mark.contract("J4")
def test_plain_output_is_the_fitting_answer_alone(asked):
    look = {"text": "I look.", "calls": [{"name": "read_file", "arguments": {"path": "hello.py"}}]}
    code, out, err = asked("text", look, {"text": WRONG}, {"text": GOOD})
    assert (code, out) == (0, f"{GOOD}\n")
    assert "read_file path=hello.py" in err


@pytest.mark.contract("J4")
@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("no.json", "no.json cannot be read: No such file"),
        ("{", "is not JSON"),
        ('{"type": "nothing"}', "this is no JSON Schema"),
    ],
)
def test_a_schema_that_cannot_be_used_stops_before_the_model_is_asked(run, schema, says):
    code, out, err = outcome(run("json", {"text": GOOD}, more=["--schema", schema]))
    assert code == 2
    assert says in err
    assert says in json.loads(out)["error"]["message"]


def test_the_schema_may_come_through_standard_input(run):
    process = run("json", {"text": GOOD}, more=["--schema", "-"], stdin=subprocess.PIPE)
    out, _ = process.communicate(json.dumps(SCHEMA).encode(), timeout=50)
    assert json.loads(out)["answer"] == {"name": "hello.py", "lines": 1}


def test_no_reference_to_another_place_is_followed(tmp_path):
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    for place in (f"http://127.0.0.1:{server.server_port}/a.json", secret.as_uri()):
        with pytest.raises(UsageError, match="only references within the schema"):
            Check({"$ref": place})
    server.shutdown()
    server.server_close()
    assert requests == []
    inner = {"$ref": "#/$defs/name", "$defs": {"name": {"type": "string"}}}
    assert Check(inner).problem_of('"a"') == ("a", "")


def test_a_pattern_that_backtracks_costs_nothing():
    check = Check({"type": "string", "pattern": "^(a+)+$"})
    assert check.problem_of(json.dumps("a" * 5_000 + "!"))[1]


def test_a_schema_that_takes_for_ever_is_refused_before_the_model_is_asked(run):
    steps = [{"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)]
    definitions = {str(number): step for number, step in enumerate([*steps, {"type": "string"}])}
    schema = {"$ref": "#/$defs/0", "$defs": definitions}
    code, out, err = outcome(run("json", {"text": GOOD}, more=["--schema", json.dumps(schema)]))
    assert code == 2
    assert "takes more than 5 s" in json.loads(out)["error"]["message"]
    assert "Traceback" not in err


def test_an_answer_whose_check_takes_for_ever_does_not_fit():
    check = Check({"anyOf": [{"type": "array", "items": {"$ref": "#"}}] * 2})
    answer, problem = check.problem_of("[" * 60 + "1" + "]" * 60)
    assert answer is None
    assert "takes more than 5 s" in problem


def test_a_schema_is_an_object(tmp_path):
    file = tmp_path / "schema.json"
    file.write_text("[1]")
    with pytest.raises(UsageError, match="is a JSON object"):
        load_schema(str(file))


LOOK = {"calls": [{"name": "read_file", "arguments": {"path": "hello.py"}}]}
SLEEP = {"calls": [{"name": "bash", "arguments": {"command": "echo begun; sleep 30"}}]}
USED = {**LOOK, "usage": {"input_tokens": 90, "output_tokens": 20}}
WRITE = {"calls": [{"name": "write_file", "arguments": {"path": "a", "content": "a"}}]}


@pytest.mark.contract("F9")
@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
@pytest.mark.parametrize(
    ("more", "turns", "reason", "code", "says"),
    [
        (["--max-turns", "1"], [LOOK, {"text": "So far."}], "turn_limit", 5, "limit of 1 turn"),
        (["--max-tokens", "100"], [USED, {"text": "x"}], "budget", 5, "limit of 100 tokens"),
        (
            ["--mode", "auto", "--max-seconds", "1"],
            [SLEEP, {"text": "x"}],
            "budget",
            5,
            "limit of 1 s (max_seconds",
        ),
        (
            ["--mode", "ask"],
            [WRITE, {"text": "Not done."}],
            "approval_needed",
            3,
            "approval needed",
        ),
    ],
)
def test_each_form_says_what_limited_a_run(run, form, more, turns, reason, code, says):
    returned, out, err = outcome(run(form, *turns, more=more))
    assert returned == code
    if form == "text":
        assert says in err
        return
    report = json.loads(out.splitlines()[-1])
    assert report["stop_reason"] == reason
    told = report["error"]["message"] if report["error"] else report["denials"][0]["reason"]
    assert says in told


@pytest.mark.contract("F9")
def test_a_wrong_answer_that_used_up_the_budget_is_not_asked_for_again(run):
    used = {"text": WRONG, "usage": {"input_tokens": 90, "output_tokens": 20}}
    more = ["--schema", json.dumps(SCHEMA), "--max-tokens", "100"]
    code, out, _ = outcome(run("json", used, {"text": GOOD}, more=more))
    report = json.loads(out)
    assert (code, report["stop_reason"], report["turns"]) == (5, "budget", 1)
    assert report["answer"] is None
    assert "limit of 100 tokens" in report["error"]["message"]


def test_an_empty_schema_is_no_run_without_a_check(run):
    code, out, err = outcome(run("text", {"text": "never asked"}, more=["--schema", ""]))
    assert (code, out) == (2, "")
    assert "--schema is empty" in err


@pytest.mark.contract("F9")
def test_a_limit_on_money_without_a_price_is_refused_with_what_to_do(run):
    code, out, err = outcome(run("json", {"text": "x"}, more=["--max-cost", "1"]))
    assert code == 2
    assert "the price of scripted/" in err
    assert "--max-seconds" in json.loads(out)["error"]["message"]


CUT = {"text": "The first half", "truncated": True}
TASK = {"name": "task", "arguments": {"description": "look", "prompt": "Look.", "name": "explore"}}
NOT_ALLOWED = '[plugins.policy-rules]\ndeny = ["write_file(a)"]\n'
ONE_CALL = '[plugins.tool-task]\nmax_calls = 1\nmodel = "scripted/look.json"\n'


@pytest.mark.contract("F9")
@pytest.mark.parametrize("form", ["text", "json", "jsonl", "terminal"])
@pytest.mark.parametrize(
    ("code", "settings", "turns", "says", "fields"),
    [
        (1, "", [CUT] * 3, "the output limit cut 3 replies in a row", {"truncated": True}),
        (6, NOT_ALLOWED, [WRITE, {"text": "No."}], "denied", {"denials": "denied"}),
        (
            0,
            ONE_CALL,
            [{"calls": [TASK]}, {"text": "No."}],
            "its budget is spent: 1 calls",
            {"tool_calls": "budget"},
        ),
    ],
)
def test_each_form_says_what_a_run_lacks(run, workspace, form, code, settings, turns, says, fields):
    looks = [{"calls": [{**LOOK["calls"][0], "arguments": {"path": f"{n}"}}]} for n in range(4)]
    (workspace / "look.json").write_text(json.dumps({"turns": looks}))
    ended, out, err = outcome(run(form, *turns, settings=settings, more=["--mode", "auto"]))
    assert ended == code
    if form in {"text", "terminal"}:
        assert says in " ".join((out + err).split())
        return
    report = json.loads(out.splitlines()[-1])
    for name, value in fields.items():
        assert value in str(report[name]) if isinstance(value, str) else report[name] == value


@pytest.mark.parametrize("place", ["http://127.0.0.1:{port}/s", "file:///etc/hostname"])
@pytest.mark.parametrize(
    "schema", [{"$schema": 0}, {"properties": {"a": {"$id": "x:y", "$schema": 0}}}]
)
def test_no_version_of_json_schema_is_fetched(place, schema):
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_error(404)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = json.dumps(schema).replace("0", json.dumps(place.format(port=server.server_port)))
        with pytest.raises(UsageError, match="no version of JSON Schema"):
            Check(json.loads(text))
        server.shutdown()
    assert not seen


def test_a_known_version_of_json_schema_may_be_named():
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"}
    assert Check(schema).problem_of("1") == (1, "")
