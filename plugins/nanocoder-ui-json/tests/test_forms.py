"""What a program reads from `nanocoder run --output json` and `jsonl`."""

import json
import time

import pytest
from nanocoder import Event
from nanocoder_ui_json.encoding import encode
from nanocoder_ui_json.screens import open_lines, open_object

pytestmark = pytest.mark.timeout(60)

KEYS = {
    "text",
    "answer",
    "truncated",
    "stop_reason",
    "session_id",
    "turns",
    "usage",
    "cost",
    "tool_calls",
    "denials",
    "files_changed",
    "untracked",
    "dry_run",
    "error",
    "signal",
}
READS = {"calls": [{"name": "read_file", "arguments": {"path": "hello.py"}}]}
WRITES = {"calls": [{"name": "write_file", "arguments": {"path": "new.py", "content": "x\n"}}]}


def test_json_is_one_object_on_stdout_and_nothing_else(run):
    process = run("json", READS, {"text": "It prints hello."})
    out, _ = process.communicate()
    assert process.returncode == 0
    report = json.loads(out)
    assert report.keys() - {"model"} == KEYS
    assert (report["text"], report["stop_reason"]) == ("It prints hello.", "done")
    assert [call["tool"] for call in report["tool_calls"]] == ["read_file"]
    assert out.count(b"\n") == 1


def test_a_notice_is_an_event_in_jsonl_and_a_line_on_standard_error_in_json(run):
    turn = {"text": "Done.", "notice": "One result was left out\x1b[2J."}
    process = run("json", turn)
    out, complaint = process.communicate()
    assert json.loads(out)["text"] == "Done."
    assert b"nanocoder: One result was left out\\x1b[2J.\n" in complaint
    out, _ = run("jsonl", turn).communicate()
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["text"] for event in events if event["type"] == "notice"] == [turn["notice"]]


def test_jsonl_is_one_event_a_line_from_the_first_to_the_last(run):
    process = run("jsonl", READS, {"text": "It prints hello.", "deltas": 4})
    out, _ = process.communicate()
    events = [json.loads(line) for line in out.splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("session.started", "session.finished")
    assert events[-1].keys() >= KEYS
    assert (
        "".join(event["text"] for event in events if event["type"] == "text") == "It prints hello."
    )
    (returned,) = (event for event in events if event["type"] == "call.returned")
    assert returned["call_id"]
    assert returned["status"] == "ok"
    times = [event["at"] for event in events]
    assert times == sorted(times)


def test_events_arrive_while_the_run_goes_on(run):
    process = run("jsonl", {"text": "slow", "delay_s": 30})
    assert json.loads(process.stdout.readline())["type"] == "session.started"
    assert process.poll() is None
    process.kill()
    process.communicate()


def test_a_call_that_needs_consent_is_reported_and_never_waited_for(run):
    process = run("json", WRITES, {"text": "I may not."})
    out, _ = process.communicate()
    report = json.loads(out)
    assert process.returncode == 3
    assert report["stop_reason"] == "approval_needed"
    assert [denial["tool"] for denial in report["denials"]] == ["write_file"]


def test_a_model_that_is_not_there_is_an_error_in_the_object(run):
    process = run("json", {"error": {"kind": "auth", "message": "no key"}})
    out, err = process.communicate()
    report = json.loads(out)
    assert process.returncode == 4
    assert report["stop_reason"] == "provider_error"
    assert "no key" in report["error"]["message"]
    assert not err.strip().startswith(b"{")


def test_hostile_text_and_the_locale_do_not_break_the_form(run):
    hostile = "\x1b]52;c;eA==\x07 \ud800 \u202e \u2028 caf\xe9 \x85"
    process = run("jsonl", {"text": hostile}, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    out, _ = process.communicate()
    assert process.returncode == 0
    assert out.isascii()
    assert b"\x1b" not in out
    texts = [
        event["text"] for event in map(json.loads, out.split(b"\n")[:-1]) if event["type"] == "text"
    ]
    assert texts == [hostile]


def test_a_reader_that_leaves_ends_the_run_without_a_traceback(run):
    process = run("jsonl", {"text": "a" * 300_000, "deltas": 3_000})
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert b"Traceback" not in err


def test_twenty_thousand_pieces_pass_cheaply(monkeypatch, tmp_path):
    import sys

    from nanocoder_ui_json import nanocoder_screens

    screen = next(offer for offer in nanocoder_screens() if offer.name == "jsonl")
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        display = screen.open(None, None)
        started = time.perf_counter()
        for _ in range(20_000):
            display.show(Event("text", {"text": "word "}))
        took = time.perf_counter() - started
    assert len((tmp_path / "out").read_text().splitlines()) == 20_000
    assert took < 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": float("nan"), "b": [float("inf"), 1.5]}, {"a": None, "b": [None, 1.5]}),
        ({1: b"\xff", (2, 3): {"x"}}, {"1": "\ufffd", "(2, 3)": ["x"]}),
        ({"at": Event}, {"at": str(Event)}),
    ],
)
def test_what_json_has_no_form_for_is_still_json(value, expected):
    assert json.loads(encode(value)) == expected


def test_a_value_that_contains_itself_is_still_json():
    value = {"name": "a"}
    value["self"] = value
    assert json.loads(encode(value)) == {"name": "a", "self": "[contains itself]"}


@pytest.mark.parametrize("open_screen", [open_lines, open_object])
def test_what_a_plugin_prints_does_not_end_up_between_the_events(open_screen, capsys):
    screen = open_screen(None, None)
    print("a plugin's own words", end="")
    screen.show(Event("session.finished", {"text": "Done."}))
    screen.close()
    out, err = capsys.readouterr()
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["Done."]
    assert err == "a plugin's own words"
    print("afterwards")
    assert capsys.readouterr().out == "afterwards\n"


TOKEN = "ghp_" + "d" * 36


def test_no_event_and_no_report_has_a_secret(run):
    leaks = {"calls": [{"name": "bash", "arguments": {"command": f"echo {TOKEN}"}}]}
    for form in ("jsonl", "json"):
        out, _ = run(form, leaks, {"text": f"It is {TOKEN}."}).communicate()
        assert b"[secret: github-token]" in out
        assert TOKEN.encode() not in out
    events = [json.loads(line) for line in run("jsonl", leaks).communicate()[0].splitlines()]
    received = next(event for event in events if event["type"] == "call.received")
    assert received["arguments"] == {"command": "echo [secret: github-token]"}
    assert received["tool"] == "bash"


def test_no_event_has_a_secret_that_is_a_path_or_a_name_in_a_call(run):
    calls = [
        {"name": "read_file", "arguments": {"path": TOKEN}},
        {"name": "grep", "arguments": {"pattern": TOKEN, "path": TOKEN}},
        {"name": TOKEN, "arguments": {}},
    ]
    for form in ("jsonl", "json"):
        out, _ = run(form, {"calls": calls}, {"text": "Done."}).communicate()
        assert TOKEN.encode() not in out
