"""How fast calls use up what an objective allows, from journals of real sessions."""

import json
import subprocess
import sys
import time

import pytest
from nanocoder_command_observe.burn_rate import burn_rates
from nanocoder_kit_sessions import SessionStore

HOUR = 3_600.0
OBJECTIVES = {"error_rate": {"*": 0.05}}


@pytest.fixture
def rates(tmp_path):
    """Keep calls of one tool that end now, and judge them as if *later* seconds had passed."""
    store = SessionStore(tmp_path)
    _, journal = store.create(tmp_path)

    def judge(*statuses, later=0.0, objectives=OBJECTIVES, took_ms=1.0):
        for status in statuses:
            result = {"tool": "look", "status": status, "ran_ms": took_ms, "error_class": ""}
            journal.append("call.finished", {"result": result, "call_id": "1"})
        rates = burn_rates(store, objectives, time.time() + later)
        return {rate.window: rate for rate in rates}

    yield judge
    journal.close()


@pytest.mark.contract("NT-61")
@pytest.mark.contract("NT-81")
def test_a_tool_that_fails_now_is_an_alert_in_every_window(rates):
    found = rates(*["ok"] * 5, *["error"] * 15)
    assert {window: rate.is_alert for window, rate in found.items()} == {
        "1 h": True,
        "6 h": True,
        "3 days": True,
    }
    assert found["1 h"].long == pytest.approx(15.0)  # three quarters failed, a twentieth may


def test_what_has_ended_is_no_alert_any_more(rates):
    found = rates(*["error"] * 20, later=0.5 * HOUR)
    assert found["1 h"].long > found["1 h"].limit
    assert found["1 h"].short == 0
    assert not found["1 h"].is_alert
    assert found["3 days"].is_alert
    assert not any(rate.is_alert for rate in rates(later=7 * HOUR).values())


def test_a_tool_within_its_objective_is_none(rates):
    found = rates(*["ok"] * 99, "error")
    assert found["3 days"].long == pytest.approx(0.2)
    assert not any(rate.is_alert for rate in found.values())


def test_a_slow_decline_is_an_alert_of_the_longest_window_alone(rates):
    found = rates(*["ok"] * 90, *["error"] * 10)
    assert [window for window, rate in found.items() if rate.is_alert] == ["3 days"]


def test_a_failure_among_few_calls_is_none(rates):
    assert not any(rate.is_alert for rate in rates("error", "error").values())


def test_refused_calls_say_nothing_about_a_tool(rates):
    assert rates(*["denied"] * 30) == {}


def test_an_objective_that_allows_much_is_an_alert_when_nearly_all_calls_miss_it(rates):
    wide = {"error_rate": {"*": 0.5}}
    assert rates(*["error"] * 20, objectives=wide)["1 h"].is_alert
    assert not rates(*["ok"] * 20, objectives=wide)["1 h"].is_alert


def test_an_objective_that_allows_nothing_is_an_alert_at_the_first_failure(rates):
    nothing = {"error_rate": {"*": 0.0}}
    assert not rates(*["ok"] * 20, objectives=nothing)["1 h"].is_alert
    assert rates("error", objectives=nothing)["3 days"].is_alert


def test_slow_calls_use_up_what_a_percentile_allows(rates):
    slow = {"p95_ms": {"look": 100.0}, "p99_ms": {"other": 1.0}}
    found = rates(*["ok"] * 20, objectives=slow, took_ms=500.0)
    assert {rate.objective for rate in found.values()} == {"p95_ms"}
    assert found["1 h"].long == pytest.approx(20.0)
    assert found["1 h"].is_alert


def nanocoder(tmp_path, *words):
    command = [sys.executable, "-m", "nanocoder", "stats", "--cwd", str(tmp_path), *words]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "COLUMNS": "200"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=environment
    )


def test_the_command_prints_the_rates_and_checks_them(tmp_path):
    done = nanocoder(tmp_path, "--burn-rate")
    assert done.returncode == 2
    assert "needs an objective" in done.stderr
    folder = tmp_path / ".config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[plugins.command-observe]\nerror_rate = { "*" = 0.05 }\n')
    assert "No calls" in nanocoder(tmp_path, "--burn-rate", "--check").stdout
    store = SessionStore(tmp_path / ".local/state/nanocoder")
    _, journal = store.create(tmp_path)
    for _ in range(12):
        result = {"tool": "look", "status": "error", "ran_ms": 1.0, "error_class": "failed"}
        journal.append("call.finished", {"result": result, "call_id": "1"})
    journal.close()
    done = nanocoder(tmp_path, "--burn-rate")
    assert done.returncode == 0
    assert done.stdout.count("alert\n") == 3, done
    assert nanocoder(tmp_path, "--burn-rate", "--check").returncode == 1
    printed = nanocoder(tmp_path, "--burn-rate", "--output", "json").stdout
    rates = json.loads(printed)["burn_rates"]
    assert [rate["window"] for rate in rates if rate["alert"]] == ["1 h", "6 h", "3 days"]
    assert nanocoder(tmp_path, "--burn-rate", "--days", "2").returncode == 2
