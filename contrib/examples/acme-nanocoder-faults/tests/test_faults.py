"""What breaks, and that the session around it does not."""

import time
from typing import Annotated

import acme_nanocoder_faults as acme
import pytest
from acme_nanocoder_faults import Settings
from nanocoder import hookimpl, tool
from nanocoder_testing import opened


@tool(risk="safe", effects={"read"})
def look(target: Annotated[str, "Where."]) -> str:
    """Look at a target."""
    return f"looked at {target}"


class Tools:
    @hookimpl
    def nanocoder_tools(self):
        return [look]


PLUGINS = {"tools": Tools(), "acme-faults": acme}


@pytest.fixture
def play_with(run_session):
    """Run one call of look with a fault and return what came of it."""

    def play(**settings):
        turns = [[("look", {"target": "x"})], "Done."]
        return run_session(turns, plugins=PLUGINS, settings={"acme-faults": Settings(**settings)})

    return play


def test_without_settings_nothing_breaks(play_with):
    [result] = play_with().results
    assert result.output == "looked at x"


@pytest.mark.contract("NT-73")
def test_an_error_is_read_by_the_model_and_the_run_goes_on(play_with):
    played = play_with(faults={"look": "error"})
    [result] = played.results
    assert (result.error_class, result.output) == ("injected_fault", "a fault, on purpose")
    assert played.report["stop_reason"] == "done"


@pytest.mark.contract("NT-73")
def test_garbage_is_cleaned_before_the_model_reads_it(play_with):
    played = play_with(faults={"look": "garbage"})
    [result] = played.results
    assert '{"unfinished": [' in result.output
    assert "\x1b" not in result.output
    assert "\x00" not in result.output
    result.output.encode()
    assert played.text == "Done."


@pytest.mark.contract("NT-73")
def test_a_late_result_is_the_same_result(play_with):
    started = time.monotonic()
    [result] = play_with(faults={"look": "latency"}, latency_s=0.3).results
    assert time.monotonic() - started >= 0.3
    assert result.output == "looked at x"


def test_a_tool_that_is_not_named_stays_whole(play_with):
    [result] = play_with(faults={"other": "error"}).results
    assert result.output == "looked at x"


@pytest.mark.contract("NT-73")
def test_a_call_that_hangs_ends_at_the_time_limit(tmp_path):
    project = tmp_path / ".nanocoder/config.toml"
    project.parent.mkdir()
    project.write_text("call_timeout_s = 0.3\n")
    turns = [[("hang", {})], "It hung."]
    with opened(tmp_path, turns, plugins=PLUGINS) as (session, _):
        list(session.run("go"))
        assert session.messages[2].results[0].error_class == "timeout"
        assert session.report.text == "It hung."


@pytest.mark.contract("NT-73")
def test_a_call_that_hangs_is_interrupted(tmp_path):
    with opened(tmp_path, [[("hang", {})], "Never."], plugins=PLUGINS) as (session, _):
        for event in session.run("go"):
            if event.kind == "call.started":
                session.interrupt()
        assert str(session.report.stop_reason) == "interrupted"


def configured(folder, text):
    project = folder / ".nanocoder/config.toml"
    project.parent.mkdir()
    project.write_text(text)


@pytest.mark.contract("NT-92")
def test_of_too_many_calls_that_hang_some_are_told_to_come_back(tmp_path):
    configured(tmp_path, "concurrency = 1\nmax_waiting_calls = 1\n")
    turns = [[("hang", {"seconds": 0.3 + n / 1_000}) for n in range(4)], "It hung."]
    with opened(tmp_path, turns, plugins=PLUGINS) as (session, _):
        list(session.run("go"))
        found = [one.error_class for one in session.messages[2].results]
    assert sorted(found) == ["", "", "busy", "busy"]


@pytest.mark.parametrize("wrong", [{"faults": {"look": "fire"}}, {"latency_s": 61.0}])
def test_a_fault_that_there_is_not_is_refused(wrong):
    with pytest.raises(ValueError, match=r"there is no fault 'fire'|not between 0 and 60"):
        Settings(**wrong)
