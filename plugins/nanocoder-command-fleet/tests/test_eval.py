"""`nanocoder eval`: a suite, its figures, criteria that fail a build, and two results compared."""

import json
import os
import re
from xml.etree import ElementTree as ET

import pytest
from check_outputs import check_outputs  # noqa: F401
from nanocoder_command_eval.comparison import compared, flipped
from nanocoder_command_eval.figures import Figures, pass_at

pytestmark = pytest.mark.timeout(200)

TASK = """
kind = "{kind}"
prompt = "Write {number}."
check = '''
{check}
'''

[files]
"a.txt" = "before"
"""

CHECKS = {
    "one": ("edit", 'assert read("out.txt") == "hi"'),
    "two": ("edit", 'assert read("out.txt") == "no"'),
    "three": ("read", 'assert answer == "It is hi."'),
    "four": ("read", 'assert answer == "It is no."'),
}


@pytest.fixture
def suite(nanocoder):
    """A suite of four tasks; a scripted model writes out.txt and solves two of them."""
    folder = nanocoder.cwd / "suite"
    folder.mkdir()
    for number, (name, (kind, check)) in enumerate(CHECKS.items()):
        text = TASK.format(kind=kind, number=number, check=check)
        (folder / f"{name}.toml").write_text(text)
    return folder


def model(nanocoder, name, text, file):
    usage = {"input_tokens": 100, "output_tokens": 10, "cost": 0.01}
    call = {"name": "write_file", "arguments": {"path": file, "content": "hi"}}
    turns = [{"calls": [call], "usage": usage}, {"text": text, "usage": usage}]
    path = nanocoder.cwd / f"{name}.json"
    path.write_text(json.dumps({"turns": turns}))
    return f"scripted/{path}"


def evaluate(nanocoder, results, *words, text="It is hi.", file="out.txt"):
    words = ("--model", model(nanocoder, results, text, file), *words)
    return nanocoder("eval", "suite", "--results", results, "--yes", *words, timeout=150)


@pytest.mark.contract("K3")
def test_the_figures_have_pass_at_1_with_its_interval_and_what_a_solved_run_costs(nanocoder, suite):
    done = evaluate(nanocoder, "r", "--output", "json")
    assert (done.returncode, done.stderr) == (0, "")
    figures = json.loads(done.stdout)
    assert (figures["tasks"], figures["solved"], figures["pass_at_1"]) == (4, 2, 0.5)
    assert (round(figures["low"], 3), round(figures["high"], 3)) == (0.15, 0.85)
    assert figures["cost_per_solved"] == pytest.approx(0.04)
    assert figures["tokens_per_solved"] == 440
    assert figures["failures"] == {"check_failed": 2}
    assert figures["kinds"] == {"edit": [1, 2], "read": [1, 2]}
    assert json.loads((nanocoder.cwd / "r" / "eval.json").read_text())["solved"] == 2
    page = (nanocoder.cwd / "r" / "summary.html").read_text()
    assert page.count("<svg") == 2
    assert "50.0%" in page


@pytest.mark.contract("K4")
@pytest.mark.contract("NT-67")
@pytest.mark.contract("NT-69")
def test_a_criterion_that_is_not_met_ends_with_1_and_says_which(nanocoder, suite):
    criteria = nanocoder.cwd / "criteria.toml"
    criteria.write_text("min_pass_at_1 = 0.4\nmax_tokens_per_solved = 1000\n")
    assert evaluate(nanocoder, "r", "--criteria", "criteria.toml").returncode == 0
    criteria.write_text("min_pass_at_1 = 0.75\nmax_cost_per_solved = 0.01\n")
    done = evaluate(nanocoder, "r", "--criteria", "criteria.toml")
    assert done.returncode == 1
    assert "not met: min_pass_at_1 = 0.75: it is 0.5" in done.stderr
    assert "not met: max_cost_per_solved = 0.01: it is 0.04" in done.stderr
    criteria.write_text("min_pass = 0.75\n")
    wrong = evaluate(nanocoder, "r", "--criteria", "criteria.toml")
    assert wrong.returncode == 2
    assert "there is no criterion 'min_pass'; did you mean" in wrong.stderr


@pytest.mark.contract("K5")
@pytest.mark.contract("W16")
@pytest.mark.full
def test_two_results_are_compared_task_by_task(nanocoder, suite):
    evaluate(nanocoder, "a", "--runs", "2")
    evaluate(nanocoder, "b", "--runs", "2", text="It is something.", file="other.txt")
    done = nanocoder("eval", "compare", "a", "b", "--output", "json", "--page", "compare.html")
    assert (done.returncode, done.stderr) == (0, "")
    comparison = json.loads(done.stdout)
    assert comparison["a"]["pass_at_1"] == 0.5
    assert comparison["b"]["pass_at_1"] == 0.0
    assert comparison["only_a"] == ["one", "three"]
    assert comparison["p"] > 0.05
    assert comparison["verdict"].startswith("no difference that chance does not explain")
    table = nanocoder("eval", "compare", "a", "b").stdout
    assert "B - A: -50.0%" in table
    assert (nanocoder.cwd / "compare.html").read_text().count("<svg") == 3
    nanocoder("eval", "compare", "a", "b", "--page", "compare.svg")
    picture = ET.parse(nanocoder.cwd / "compare.svg").getroot()
    assert picture.tag.endswith("}svg")
    assert len(picture.findall("{*}circle")) == 2
    assert "no difference that chance does not explain" in picture.findtext("{*}title")


@pytest.mark.contract("W16")
def test_two_plugin_sets_are_compared_and_a_worse_one_ends_with_1(nanocoder, suite):
    for number in range(8):
        text = TASK.format(kind="edit", number=f"{number} files", check=CHECKS["one"][1])
        (suite / f"more-{number}.toml").write_text(text)
    evaluate(nanocoder, "a", "--only", "more")
    folder = nanocoder.home / ".config" / "nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[plugins]\ndisable = ["tool-write"]\n')
    done = evaluate(nanocoder, "b", "--only", "more", "--output", "json")
    assert json.loads(done.stdout)["failures"] == {"check_failed": 8}
    words = ("eval", "compare", "a", "b")
    done = nanocoder(*words)
    assert "A solves more (p = 0.008)" in done.stdout
    assert re.search(r"^plugin tool-write +\S+ +none$", done.stdout, re.MULTILINE)
    assert done.returncode == 0
    done = nanocoder(*words, "--fail-if-worse")
    assert done.returncode == 1
    assert "not met: --fail-if-worse: A solves more" in done.stderr
    assert nanocoder("eval", "compare", "b", "a", "--fail-if-worse").returncode == 0
    (nanocoder.cwd / "criteria.toml").write_text("min_pass_at_1 = 0.5\n")
    assert nanocoder(*words, "--criteria", "criteria.toml").returncode == 1


@pytest.mark.contract("K3")
def test_a_spent_budget_stops_the_runs_and_a_larger_one_goes_on(nanocoder, suite):
    words = ("--budget", "0.05", "--workers", "1", "--output", "json")
    done = evaluate(nanocoder, "r", *words)
    figures = json.loads(done.stdout)
    assert done.returncode == 1
    assert figures["runs"] == 3  # each costs 0.02
    assert figures["unmet"] == ["the budget of $0.05 is spent: 3 of 4 runs are done"]
    assert json.loads(evaluate(nanocoder, "r", *words).stdout)["runs"] == 3
    more = evaluate(nanocoder, "r", "--budget", "0.2", "--output", "json")
    assert (more.returncode, json.loads(more.stdout)["runs"]) == (0, 4)


def test_other_files_make_it_another_task(nanocoder, suite):
    check = "assert read('a.txt') == 'after'"
    text = TASK.format(kind="edit", number=5, check=check)
    (suite / "five.toml").write_text(text)
    words = ("--only", "five", "--output", "json")
    assert json.loads(evaluate(nanocoder, "r", *words).stdout)["solved"] == 0
    (suite / "five.toml").write_text(text.replace('"before"', '"after"'))
    assert json.loads(evaluate(nanocoder, "r", *words).stdout)["solved"] == 1


def test_pass_at_k_is_the_chance_that_one_of_k_runs_solves():
    solved = [("x", True), ("x", False), ("x", False), ("x", False), ("y", True), ("y", True)]
    solved += [("y", True), ("y", True)]
    usage = {"input_tokens": 1, "output_tokens": 1}
    runs = [
        {"id": f"{task}#{n}", "stop_reason": "done", "checked": is_solved, "usage": usage}
        for n, (task, is_solved) in enumerate(solved)
    ]
    # Of four runs of x, any two have the solved one in 3 of 6 cases.
    assert pass_at(runs) == {1: 0.625, 2: 0.75, 3: 0.875, 4: 1.0}
    assert pass_at([]) == {}


def results(solved):
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        {"id": f"t{n}#1", "stop_reason": "done", "checked": n in solved, "usage": usage}
        for n in range(20)
    ]


def test_a_difference_that_chance_does_not_explain_is_named():
    comparison = compared(results({0}), results(range(12)))
    assert comparison.p < 0.01
    assert comparison.verdict.startswith("B solves more")
    assert 0 < comparison.low < comparison.difference < comparison.high
    assert flipped([0.5] * 10) < 0.01
    assert flipped([0.5, -0.5]) == 1.0


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope", "--results", "r"], "there is no suite or folder 'nope'"),
        (["nope"], "there is no suite or folder 'nope'"),
        (["suite"], "--results DIR"),
        (["suite", "--results", "r", "--runs", "0"], "--runs"),
        (["suite", "--results", "r", "--only", "zero"], "has no such task"),
        (["suite", "--results", "r", "--budget", "0"], "--budget"),
        (["suite", "--results", "r", "--fail-if-worse"], "belong to: nanocoder eval compare"),
        (["compare", "a"], "name two directories"),
        (
            ["compare", "a", "b"],
            "has no results (results.jsonl); name a folder that `nanocoder eval SUITE",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(nanocoder, suite, words, message):
    done = nanocoder("eval", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (nanocoder.cwd / "r" / "results.jsonl").exists()


def test_runs_that_all_end_with_an_error_say_which(nanocoder, suite):
    words = ("--model", f"scripted/{nanocoder.cwd}/none.json", "--only", "one")
    done = nanocoder("eval", "suite", "--results", "r", "--yes", *words)
    assert "every run ended with an error; the first: " in done.stderr
    assert "none.json" in done.stderr


def test_the_checks_of_a_folder_are_shown_before_anything_starts(nanocoder, suite):
    words = ("--model", model(nanocoder, "m", "It is hi.", "out.txt"), "--only", "two")
    done = nanocoder("eval", "suite", "--results", "r", *words)
    assert done.returncode == 2
    assert 'two: assert read("out.txt") == "no"' in done.stderr
    assert "--yes" in done.stderr
    assert not (nanocoder.cwd / "r").exists()


def test_criteria_without_a_criterion_are_refused(nanocoder, suite):
    (nanocoder.cwd / "empty.toml").write_text("# nothing\n")
    done = nanocoder("eval", "suite", "--results", "r", "--criteria", "empty.toml")
    assert done.returncode == 2
    assert "empty.toml: it has no criterion" in done.stderr


def test_a_task_with_an_unknown_key_is_named(nanocoder, suite):
    (suite / "five.toml").write_text('promt = "x"\n')
    done = nanocoder("eval", "suite", "--results", "r")
    assert done.returncode == 2
    assert "five.toml: there is no key 'promt'; did you mean 'prompt'?" in done.stderr


def test_nothing_of_an_earlier_run_stays_in_what_a_task_begins_with(nanocoder, suite):
    words = ("--only", "one", "--output", "json")
    assert json.loads(evaluate(nanocoder, "r", *words).stdout)["solved"] == 1
    source = next((nanocoder.cwd / "r" / "sources").glob("*/one"))
    outside = nanocoder.cwd / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine")
    (source / "AGENTS.md").write_text("Write no.")
    (source / ".nanocoder").mkdir()
    (source / ".nanocoder" / "config.toml").write_text('[plugins.policy-rules]\ndeny = ["*"]\n')
    (source / "link").symlink_to(outside)
    done = evaluate(nanocoder, "r", *words, "--force")
    assert json.loads(done.stdout)["solved"] == 1
    assert [path.name for path in source.iterdir()] == ["a.txt"]
    assert (outside / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({'"a.txt"': '".nanocoder/config.toml"'}, "is protected"),
        ({'"a.txt"': '"sub/.git/config"'}, "is protected"),
        ({'"edit"': '["edit"]'}, "kind: expected a text"),
        ({'"before"': "[" * 9000}, "nested too deeply"),
    ],
)
def test_a_suite_that_is_wrong_is_refused_before_a_model_is_asked(
    nanocoder, suite, change, message
):
    text = (suite / "one.toml").read_text()
    for old, new in change.items():
        text = text.replace(old, new)
    (suite / "one.toml").write_text(text)
    done = evaluate(nanocoder, "r")
    assert (done.returncode, message in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr
    assert not (nanocoder.cwd / "r").exists()


def test_a_named_pipe_in_a_suite_does_not_block(nanocoder, suite):
    os.mkfifo(suite / "pipe.toml")
    done = evaluate(nanocoder, "r")
    assert (done.returncode, "pipe.toml: it is no file" in done.stderr) == (2, True)


def write_results(nanocoder, name, **changes):
    usage = {"input_tokens": 1, "output_tokens": 1}
    row = {"id": "t#1", "key": "ab", "stop_reason": "done", "checked": True, "usage": usage}
    row |= {"cost": 0.1, "error": None, "model": "m/x", **changes}
    (nanocoder.cwd / name).mkdir()
    (nanocoder.cwd / name / "results.jsonl").write_text(json.dumps(row) + "\n")


def test_a_page_is_not_written_through_a_link(nanocoder):
    write_results(nanocoder, "a")
    write_results(nanocoder, "b")
    outside = nanocoder.cwd / "outside.txt"
    outside.write_text("mine")
    page = nanocoder.cwd / "report.html"
    page.symlink_to(outside)
    words = ("eval", "compare", "a", "b", "--page")
    done = nanocoder(*words, "report.html")
    assert (done.returncode, "report.html is a link" in done.stderr) == (2, True)
    assert outside.read_text() == "mine"
    done = nanocoder(*words, "no/report.html")
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "changes",
    [
        {"cost": 10**400},
        {"cost": float("nan")},
        {"seconds": float("inf")},
        {"usage": {"input_tokens": 10**400, "output_tokens": 1}},
        {"usage": {"input_tokens": float("inf"), "output_tokens": 1}},
        {"error": {"message": 1}},
        {"session_id": []},
    ],
)
def test_results_with_values_that_are_none_are_refused(nanocoder, changes):
    write_results(nanocoder, "a")
    write_results(nanocoder, "b", **changes)
    done = nanocoder("eval", "compare", "a", "b")
    assert (done.returncode, "b/results.jsonl:1: is not a result" in done.stderr) == (2, True)


def test_results_without_seconds_and_with_odd_notes_are_compared(nanocoder):
    write_results(nanocoder, "a")
    write_results(nanocoder, "b", error={"kind": "odd"})
    (nanocoder.cwd / "a" / "eval.json").write_text("[" * 100_000)
    os.mkfifo(nanocoder.cwd / "b" / "eval.json")
    done = nanocoder("eval", "compare", "a", "b")
    assert (done.returncode, done.stderr) == (0, "")


def test_criteria_that_are_nested_too_deeply_are_refused(nanocoder, suite):
    (nanocoder.cwd / "criteria.toml").write_text("a = " + "[" * 9000)
    done = evaluate(nanocoder, "r", "--criteria", "criteria.toml")
    assert (done.returncode, "nested too deeply" in done.stderr) == (2, True)


@pytest.mark.parametrize("runs", [1, 3])
def test_one_task_has_an_interval_that_says_how_little_it_shows(runs):
    done = {"stop_reason": "done", "checked": True, "cost": None, "error": None, "model": "m"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    results = [{"id": f"a#{number}", "usage": usage, **done} for number in range(1, runs + 1)]
    figures = Figures.of("s", results, {})
    assert (figures.pass_at_1, figures.high) == (1.0, pytest.approx(1.0))
    assert figures.low == pytest.approx(0.2065, abs=1e-4)
    comparison = compared(results, results)
    assert (comparison.low, comparison.high) == (-1.0, 1.0)
