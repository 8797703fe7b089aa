"""Expected calls pass, others fail, and the command offers a task's functions in place of tools."""

import json

import nanocoder_eval_bfcl as plugin
import pytest
from nanocoder_eval_bfcl.scoring import is_right

ROWS = plugin.rows()


def expected_calls(row):
    """The first right value of each parameter that may not be left out."""

    def value(allowed):
        first = next(each for each in allowed if each != "")
        return plain(first)

    def plain(first):
        if isinstance(first, dict):
            return {name: value(each) for name, each in first.items() if "" not in each}
        return [plain(each) for each in first] if isinstance(first, list) else first

    for call in row["expected"]:
        ((name, values),) = call.items()
        arguments = {key: value(each) for key, each in values.items() if "" not in each}
        yield {"name": name, "arguments": arguments}


def test_there_are_a_hundred_tasks_of_each_kind():
    kinds = [row["kind"] for row in ROWS]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "simple": 100,
        "multiple": 100,
        "parallel": 100,
        "irrelevance": 100,
    }
    assert len({row["id"] for row in ROWS}) == 400


def test_the_expected_calls_of_each_task_are_right_and_none_is_wrong():
    for row in ROWS:
        calls = list(expected_calls(row))
        assert is_right(calls[::-1], row["expected"]), row["id"]
        assert is_right([], row["expected"]) == (row["kind"] == "irrelevance")
        assert not is_right([*calls, {"name": "other", "arguments": {}}], row["expected"])


def test_each_expected_call_fits_the_functions_of_its_task():
    for row in ROWS:
        functions = {each["name"]: each["parameters"] for each in row["functions"]}
        for call in expected_calls(row):
            assert call["arguments"].keys() <= functions[call["name"]]["properties"].keys()


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({"city": "New York", "days": 3}, True),
        ({"city": "new-york", "days": 3.0, "unit": "C"}, True),
        ({"city": "New York", "days": "3"}, False),
        ({"city": "New York", "days": True}, False),
        ({"city": "New York"}, False),
        ({"city": "New York", "days": 3, "more": 1}, False),
        ({"city": "York", "days": 3}, False),
        ("New York", False),
    ],
)
def test_values_are_compared_as_bfcl_does(arguments, right):
    expected = [{"weather": {"city": ["New York"], "days": [3], "unit": ["", "C"]}}]
    assert is_right([{"name": "weather", "arguments": arguments}], expected) is right


@pytest.mark.timeout(200)
def test_the_command_offers_the_functions_and_judges_the_calls(nanocoder):
    def outcome(folder, task, *turns):
        (nanocoder.cwd / "model.json").write_text(json.dumps({"turns": turns}))
        words = ("--results", folder, "--only", task, "--model", "scripted/model.json")
        done = nanocoder("eval", "bfcl", *words, "--output", "json", timeout=150)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    row = next(row for row in ROWS if row["kind"] == "parallel")
    call, *others = expected_calls(row)
    end = {"text": "Done."}
    assert outcome("all", row["id"], {"calls": [call, *others]}, end)["solved"] == 1
    assert outcome("turns", row["id"], {"calls": [call]}, {"calls": others}, end)["solved"] == 1
    assert outcome("one", row["id"], {"calls": [call]}, end)["solved"] == 0
    assert outcome("none", "irrelevance_0", {"text": "I cannot."})["solved"] == 1


def test_the_tools_of_plugins_are_not_offered(nanocoder):
    read = {"calls": [{"name": "read_file", "arguments": {"path": "x"}}]}
    (nanocoder.cwd / "model.json").write_text(json.dumps({"turns": [read, {"text": "No."}]}))
    words = ("--results", "r", "--only", "irrelevance_0", "--model", "scripted/model.json")
    assert nanocoder("eval", "bfcl", *words, timeout=150).returncode == 0
    (line,) = (nanocoder.cwd / "r" / "results.jsonl").read_text().splitlines()
    shown = nanocoder("sessions", "show", json.loads(line)["session_id"]).stdout
    assert "Unknown tool: read_file" in shown
