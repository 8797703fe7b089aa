"""A plugin set in stages: who gets it, what promotes it, and what takes it away again."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from check_outputs import check_outputs  # noqa: F401

pytestmark = pytest.mark.timeout(120)

COMMAND = str(Path(sys.executable).with_name("nanocoder"))


@pytest.fixture
def rollout(nanocoder):
    def run(*words):
        return nanocoder("rollout", *words)

    return run


@pytest.fixture
def evaluate(nanocoder):
    """Write what `nanocoder eval` writes, with these criteria that are not met."""
    numbers = iter(range(1_000))

    def write(*unmet, sets="new", criteria=None):
        folder = nanocoder.cwd / "results"
        folder.mkdir(exist_ok=True)
        limits = {"min_pass_at_1": 0.8} if criteria is None else criteria
        data = {"sets": sets, "criteria": limits, "unmet": unmet, "seconds_p50": next(numbers)}
        (folder / "eval.json").write_text(json.dumps(data))
        return "results"

    return write


def state(nanocoder):
    return json.loads((nanocoder.cwd / "rollout.json").read_text())


def sets_of(rollout, count):
    keys = [f"person-{number}" for number in range(count)]
    return {key: rollout("set", "--key", key).stdout.strip() for key in keys}


@pytest.mark.contract("NT-60")
def test_a_new_set_goes_to_a_part_of_the_people_who_keep_it_in_later_stages(rollout, evaluate):
    assert rollout("start", "new", "--from", "old", "--stages", "50,80,100").returncode == 0
    first = sets_of(rollout, 12)
    assert {*first.values()} == {"new", "old"}
    assert sets_of(rollout, 12) == first
    rollout("gate", evaluate())
    assert rollout("promote").stdout == "new: 80 %, underway\n"
    second = sets_of(rollout, 12)
    assert all(second[key] == "new" for key, name in first.items() if name == "new")


@pytest.mark.contract("NT-75")
def test_each_stage_needs_a_gate_of_its_own(rollout, evaluate, nanocoder):
    rollout("start", "new", "--from", "old", "--stages", "5,100")
    refused = rollout("promote")
    assert refused.returncode == 2
    assert "the gate was not passed at 5 %" in refused.stderr
    assert rollout("gate", evaluate()).returncode == 0
    assert rollout("promote").returncode == 0
    assert rollout("promote").returncode == 2
    assert rollout("gate", evaluate()).returncode == 0
    assert rollout("promote").stdout == "new: 100 %, done\n"
    assert {*sets_of(rollout, 3).values()} == {"new"}
    events = [note["event"] for note in state(nanocoder)["history"]]
    assert events == ["started", "gate passed", "promoted to 100 %", "gate passed", "done"]


@pytest.mark.contract("NT-89")
@pytest.mark.contract("NT-94")
def test_the_second_failure_in_a_row_takes_the_set_away_from_everybody(rollout, evaluate):
    rollout("start", "new", "--from", "old", "--stages", "100")
    failed = rollout("gate", evaluate("min_pass_at_1 = 0.8: it is 0.5"))
    assert failed.returncode == 1
    assert "not met: min_pass_at_1 = 0.8: it is 0.5" in failed.stderr
    assert {*sets_of(rollout, 3).values()} == {"new"}
    assert rollout("promote").returncode == 2
    again = rollout("gate", evaluate("min_pass_at_1 = 0.8: it is 0.6"))
    assert again.returncode == 1
    assert "new is withdrawn: everybody has old again" in again.stderr
    assert {*sets_of(rollout, 3).values()} == {"old"}
    assert "the gate failed 2 times in a row" in rollout("show").stdout
    assert "is withdrawn: start another" in rollout("gate", evaluate()).stderr


def test_a_pass_between_two_failures_keeps_the_set(rollout, evaluate, nanocoder):
    rollout("start", "new", "--from", "old")
    for problems in (["a"], [], ["b"]):
        rollout("gate", evaluate(*problems))
    assert (state(nanocoder)["state"], state(nanocoder)["failures"]) == ("underway", 1)
    assert state(nanocoder)["passed"] is False


def test_the_same_results_count_once(rollout, evaluate, nanocoder):
    rollout("start", "new", "--from", "old")
    results = evaluate("a")
    rollout("gate", results)
    again = rollout("gate", results)
    assert (again.returncode, "judged before" in again.stderr) == (2, True)
    assert state(nanocoder)["failures"] == 1


def test_a_finished_rollout_can_go_back_and_another_can_start(rollout, evaluate):
    rollout("start", "new", "--from", "old", "--stages", "100")
    rollout("gate", evaluate())
    rollout("promote")
    assert rollout("back", "--reason", "slow").returncode == 0
    assert sets_of(rollout, 1) == {"person-0": "old"}
    assert rollout("start", "newer", "--from", "old").returncode == 0
    assert "'newer' is underway" in rollout("start", "x", "--from", "old").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set"], "there is no rollout in"),
        (["start", "new"], "--from SET"),
        (["start", "new", "--from", "new"], "cannot replace itself"),
        (["start", "new", "--from", "old", "--stages", "50,5,100"], "rise to 100"),
        (["start", "new", "--from", "old", "--stages", "x"], "rise to 100"),
    ],
)
def test_wrong_words_write_nothing(rollout, nanocoder, words, message):
    done = rollout(*words)
    assert (done.returncode, message in done.stderr) == (2, True)
    assert list(nanocoder.cwd.iterdir()) == []


def test_results_that_prove_nothing_are_refused(rollout, evaluate, nanocoder):
    rollout("start", "new", "--from", "old")
    assert "evaluate with --criteria" in rollout("gate", evaluate(criteria={})).stderr
    assert "of the set 'other', not of 'new'" in rollout("gate", evaluate(sets="other")).stderr
    done = rollout("gate", "nowhere")
    assert "nowhere --criteria FILE` makes it" in " ".join(done.stderr.split())
    assert "Errno" not in done.stderr
    (nanocoder.cwd / "rollout.json").write_text("{}")
    broken = rollout("set")
    assert (broken.returncode, "is not the state of a rollout" in broken.stderr) == (2, True)


def test_two_judgements_at_the_same_time_both_count(rollout, evaluate, nanocoder):
    rollout("start", "new", "--from", "old")
    commands = []
    for name in ("first", "second"):
        evaluate("a")
        (nanocoder.cwd / "results").rename(nanocoder.cwd / name)
        words = [COMMAND, "rollout", "gate", name]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = nanocoder.environment
        commands.append(subprocess.Popen(words, cwd=nanocoder.cwd, env=environment, **quiet))
    assert [command.wait(60) for command in commands] == [1, 1]
    assert state(nanocoder)["state"] == "withdrawn"


def test_an_evaluation_of_nanocoder_is_what_the_gate_reads(rollout, nanocoder):
    suite = nanocoder.cwd / "suite"
    suite.mkdir()
    (suite / "task.toml").write_text("prompt = 'x'\ncheck = 'assert answer == \"yes\"'\n")
    (nanocoder.cwd / "criteria.toml").write_text("min_pass_at_1 = 1\n")
    rollout("start", "new", "--from", "old")
    words = ("eval", "suite", "--results", "r", "--criteria", "criteria.toml", "--yes")
    good = nanocoder.script({"text": "yes"})
    assert nanocoder(*words, "--model", good).returncode == 0
    assert rollout("gate", "r").returncode == 0
    bad = nanocoder.script({"text": "no"})
    assert nanocoder(*words, "--model", bad, "--force").returncode == 1
    assert rollout("gate", "r").returncode == 1


@pytest.mark.parametrize(
    "change",
    [{"sets": []}, {"sets": None}, {"criteria": []}, {"unmet": "x"}, {"unmet": None}],
)
def test_an_evaluation_of_wrong_types_is_refused(rollout, evaluate, nanocoder, change):
    rollout("start", "new", "--from", "old")
    path = nanocoder.cwd / evaluate() / "eval.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    done = rollout("gate", "results")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"{next(iter(change))!r} is missing or of the wrong type" in done.stderr


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "change",
    [
        {"history": [1]},
        {"history": [{}]},
        {"stable": 5},
        {"failures": "x"},
        {"stage": True},
        {"passed": 1},
        {"judged": "ab"},
        {"stages": [True]},
        {"state": []},
    ],
)
def test_a_state_of_wrong_types_is_refused(rollout, nanocoder, change):
    rollout("start", "new", "--from", "old")
    values = state(nanocoder)
    (nanocoder.cwd / "rollout.json").write_text(json.dumps(values | change))
    done = rollout("show")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "rollout.json is not the state of a rollout" in done.stderr


def test_no_pipe_and_no_nesting_stops_a_rollout(rollout, nanocoder):
    path = nanocoder.cwd / "rollout.json"
    path.write_text("[" * 200_000)
    assert "is not the state of a rollout" in rollout("show").stderr
    path.unlink()
    os.mkfifo(path)
    done = rollout("show")
    assert (done.returncode, "is not a regular file" in done.stderr) == (2, True)


def test_a_team_may_read_the_state_as_the_umask_says(rollout, nanocoder):
    os.umask(mask := os.umask(0o022))
    rollout("start", "new", "--from", "old")
    path = nanocoder.cwd / "rollout.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    rollout("back")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "name", ["--index-url=http://x", "a\nb", "a -r b", "\x1b[2J", "", " ", "\u202ea"]
)
def test_a_name_that_a_script_would_take_for_options_or_more_words_is_refused(
    rollout, nanocoder, name
):
    assert rollout("start", "new", "--from", "old").returncode == 0
    for key in ("candidate", "stable"):
        data = {**state(nanocoder), key: name}
        (nanocoder.cwd / "rollout.json").write_text(json.dumps(data))
        shown = rollout("set")
        assert (shown.returncode, shown.stdout) == (2, "")
        assert "it names no set" in shown.stderr
        (nanocoder.cwd / "rollout.json").write_text(json.dumps({**data, key: "new-2"}))
