"""Latency and error rate of each tool, from journals as they lie there, damaged ones included."""

import json
import time

import pytest
from nanocoder_command_observe.statistics import Times, missed, statistics
from nanocoder_kit_sessions import SessionStore


def result(tool="look", status="ok", error_class="", **more):
    return {"tool": tool, "status": status, "error_class": error_class, "ran_ms": 1.0, **more}


@pytest.fixture
def keep(tmp_path):
    """Keep a session with these results; returns the store of sessions."""
    store = SessionStore(tmp_path)

    def write(*results):
        _, journal = store.create(tmp_path)
        for one in results:
            journal.append("call.finished", {"result": one, "call_id": "1"})
        journal.close()
        return store

    return write


@pytest.mark.contract("NT-86")
@pytest.mark.contract("NT-93")
def test_latency_and_error_rate_of_each_tool_over_all_sessions(keep):
    keep(*[result(ran_ms=float(n)) for n in range(1, 101)])
    keep(result(status="error", error_class="timeout", ran_ms=500.0), result("edit", ran_ms=3.0))
    store = keep(result("edit", status="denied", error_class="denied", ran_ms=0.0))
    found = statistics(store)
    assert found.sessions == 3
    look = found.tools["look"].data()
    assert (look["calls"], look["errors"], look["error_rate"]) == (101, 1, round(1 / 101, 4))
    assert look["p50_ms"] == pytest.approx(51.0, rel=0.01)
    assert look["p95_ms"] == pytest.approx(96.0, rel=0.01)
    assert look["p99_ms"] == pytest.approx(100.0, rel=0.01)
    assert look["max_ms"] == 500.0
    edit = found.tools["edit"].data()
    assert (edit["calls"], edit["denied"], edit["errors"], edit["p50_ms"]) == (2, 1, 0, 3.0)


def test_what_the_tool_never_saw_is_not_its_error(keep):
    refused = ["invalid_arguments", "busy", "cancelled"]
    store = keep(*[result(status="error", error_class=one) for one in refused])
    found = statistics(store).tools["look"].data()
    assert (found["calls"], found["errors"], found["max_ms"]) == (3, 0, None)


def test_a_refused_call_counts_neither_for_nor_against_the_tool(keep):
    refused = [result(status=one, error_class=one) for one in ("denied", "approval_needed")]
    store = keep(*refused, result(), result(status="error", error_class="failed"))
    found = statistics(store).tools["look"].data()
    assert (found["calls"], found["denied"], found["answered"], found["errors"]) == (4, 2, 2, 1)
    assert found["error_rate"] == 0.5


def test_a_name_that_a_model_made_up_is_no_tool(keep):
    store = keep(result("lok", status="error", error_class="unknown_tool"), result())
    assert list(statistics(store).tools) == ["look"]


def test_waiting_for_people_and_for_others_is_not_the_tools_time(keep):
    store = keep(result(ran_ms=2.0, duration_ms=60_000.0, asked_ms=59_000.0))
    assert statistics(store).tools["look"].data()["max_ms"] == 2.0


def test_records_of_earlier_releases_count_with_their_whole_time(keep):
    old = {"tool": "look", "status": "ok", "error_class": "", "duration_ms": 7.0}
    assert statistics(keep(old)).tools["look"].data()["max_ms"] == 7.0


def test_damaged_lines_are_passed_over_and_counted_and_what_comes_after_them_is_read(keep):
    store = keep(result(), result(), result(ran_ms=9.0))
    [path] = store.folder.glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"look"', b'"book"')
    path.write_bytes(b"".join([*lines[:2], b"\x00 garbage\n", *lines[2:], b'{"seq":9,"ki']))
    found = statistics(store)
    assert found.damaged == 3
    assert found.tools["look"].data()["max_ms"] == 9.0
    assert found.tools["look"].calls == 2


@pytest.mark.parametrize("strange", [None, [], {"tool": 5}, {"tool": "look", "ran_ms": "long"}])
def test_a_record_of_another_form_breaks_nothing(keep, strange):
    found = statistics(keep(strange, result()))
    assert found.tools["look"].times.longest == 1.0


def test_only_the_last_days_and_only_one_tool(keep):
    store = keep(result(), result("edit"))
    assert statistics(store, since=time.time() + 60.0).tools == {}
    assert list(statistics(store, since=time.time() - 60.0, tool="edit").tools) == ["edit"]


def test_what_is_no_journal_is_not_read(keep, tmp_path):
    store = keep(result())
    (store.folder / "loop.jsonl").symlink_to(store.folder / "loop.jsonl")
    (store.folder / "directory.jsonl").mkdir()
    assert statistics(store).tools["look"].calls == 1
    assert statistics(SessionStore(tmp_path / "gone")).tools == {}


def test_a_million_times_take_no_more_room_than_a_hundred():
    times = Times()
    for number in range(100_000):
        times.add(number % 1_000 + 0.5)
    assert len(times._buckets) < 800  # that they are few is the promise
    assert times.percentile(0.5) == pytest.approx(500.0, rel=0.02)


@pytest.mark.contract("NT-93")
def test_objectives_are_of_a_tool_or_of_all_without_one(keep):
    store = keep(result(ran_ms=2_100.0), result("edit", ran_ms=2_100.0), result("idle", "denied"))
    tools = statistics(store).tools
    objectives = {"p95_ms": {"*": 2_000.0, "edit": 5_000.0}, "error_rate": {"*": 0.0}}
    assert missed(tools["look"], objectives) == ["p95_ms 2,100 > 2,000"]
    assert missed(tools["edit"], objectives) == []
    assert missed(tools["idle"], objectives) == []


# The command


@pytest.mark.contract("NT-86")
@pytest.mark.timeout(60)
def test_one_command_prints_the_figures_and_a_missed_objective_fails_a_check(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("x")
    assert nanocoder("call", "read_file", '{"path": "a.txt"}').returncode == 0
    assert nanocoder("call", "read_file", '{"path": "b.txt"}').returncode == 1
    done = nanocoder("stats", "--output", "json")
    [row] = json.loads(done.stdout)["tools"]
    assert (row["tool"], row["calls"], row["errors"], row["missed"]) == ("read_file", 2, 1, [])
    unset = nanocoder("stats", "--check")
    assert (unset.returncode, "nothing was checked: --check needs" in unset.stderr) == (0, True)
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[plugins.command-observe]\nerror_rate = { "*" = 0.4 }\n')
    shown = nanocoder("stats")
    assert shown.returncode == 0
    assert "missed: error_rate 0.5 > 0.4" in shown.stdout
    assert nanocoder("stats", "--check").returncode == 1
    assert nanocoder("stats", "--check", "--tool", "bash").returncode == 0


@pytest.mark.timeout(60)
def test_the_command_says_of_how_many_calls_the_errors_are_a_part(nanocoder):
    write = ("write_file", '{"path": "a.txt", "content": "x"}')
    assert nanocoder("call", "--mode", "plan", *write).returncode == 6
    *_, line = nanocoder("stats").stdout.splitlines()
    assert line.split()[:5] == ["write_file", "1", "0", "0", "1"]  # of no answer there is no part
    asked = nanocoder("stats", "--tool", "look", "--days", "0.5").stdout
    assert asked == "No calls of 'look' in the last 0.5 days (sessions kept: 1).\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("days", ["0", "-1", "nan", "inf"])
def test_days_that_are_no_time_are_an_error(nanocoder, days):
    done = nanocoder("stats", f"--days={days}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--days {days} is not valid" in done.stderr


def test_the_help_says_that_calls_of_all_directories_count(nanocoder):
    text = " ".join(nanocoder("stats", "--help").stdout.split())
    assert "--cwd DIR where the configuration is from (default: here); calls of all" in text
