"""What is denied when, and that nothing runs in between."""

import threading
from typing import Annotated

import nanocoder_policy_limits as limits
import pytest
from nanocoder import ApprovalAnswer, Decision, SessionInfo, ToolCall, tool
from nanocoder_policy_limits import Settings, nanocoder_before_execute
from nanocoder_policy_limits.buckets import MAX_KEPT, Buckets
from nanocoder_testing import Tools, opened, play


@tool(risk="safe", effects={"read"})
def look(target: Annotated[str, "Where."]) -> str:
    """Look at a target."""
    return f"looked at {target}"


@tool(risk="dangerous", effects={"execute"})
def launch(target: Annotated[str, "Where to."]) -> str:
    """Launch something at a target."""
    return f"launched at {target}"


TOOLS = Tools(look, launch)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def judge(tmp_path, clock):
    """Judge one call with settings that share a clock that stands still."""

    def ask(settings, tool=look, session="s", parent="", **call):
        settings.buckets.clock = clock
        tool_call = ToolCall("1", tool.name, {"target": "x"}, **call)
        info = SessionInfo(session, tmp_path, parent=parent)
        return nanocoder_before_execute(tool_call, tool, info, settings)

    return ask


@pytest.mark.contract("MA-105")
def test_a_burst_passes_and_what_comes_too_soon_is_denied_with_the_time_to_wait(judge, clock):
    settings = Settings(safe_burst=2, safe_per_s=0.5)
    assert [judge(settings), judge(settings)] == [None, None]
    verdict = judge(settings)
    assert verdict.decision is Decision.DENY
    assert verdict.reason == "too many safe calls: wait 2 s"
    assert verdict.rule == "2 at once, then 0.5 per second"
    assert verdict.source == "plugins.policy-limits.safe_burst"
    clock.now += 1.5
    assert judge(settings).reason == "too many safe calls: wait 0.5 s"
    clock.now += 0.5
    assert judge(settings) is None
    assert judge(settings) is not None


@pytest.mark.contract("MA-85")
def test_sub_agents_draw_from_their_session_s_own_bucket(judge):
    settings = Settings(safe_burst=2, safe_per_s=0.5)
    assert judge(settings) is None
    assert judge(settings, session="s.1", parent="s") is None
    assert judge(settings, session="s.2", parent="s").decision is Decision.DENY


@pytest.mark.contract("MA-105")
def test_riskier_calls_may_come_less_often():
    settings, risks = Settings(), ("safe", "medium", "dangerous", "destructive")
    assert [getattr(settings, f"{risk}_burst") for risk in risks] == [200, 100, 50, 20]
    assert [getattr(settings, f"{risk}_per_s") for risk in risks] == [50, 20, 5, 1]


@pytest.mark.contract("MA-105")
def test_tokens_come_back_up_to_the_burst_and_no_further(judge, clock):
    settings = Settings(safe_burst=2, safe_per_s=10.0)
    judge(settings)
    clock.now += 3_600
    assert [judge(settings) is None for _ in range(3)] == [True, True, False]


@pytest.mark.contract("MA-105")
def test_each_risk_and_each_session_has_its_own_bucket(judge):
    settings = Settings(safe_burst=1, dangerous_burst=1)
    assert judge(settings) is None
    assert judge(settings, launch) is None
    assert judge(settings, session="other") is None
    assert judge(settings).decision is Decision.DENY
    assert judge(settings, launch).reason == "too many dangerous calls: wait 0.2 s"


def test_nought_is_no_limit_and_no_refill_is_a_limit_for_the_session(judge, clock):
    assert {judge(Settings(safe_burst=0)) for _ in range(1_000)} == {None}
    settings = Settings(safe_burst=1, safe_per_s=0.0)
    assert judge(settings) is None
    clock.now += 1e9
    assert judge(settings).reason == "too many safe calls: this session may make no more of them"


def test_a_call_that_a_person_edited_is_not_counted_twice(judge):
    settings = Settings(safe_burst=1)
    assert judge(settings) is None
    assert judge(settings, edited=True) is None
    assert judge(settings) is not None


@pytest.mark.contract("MA-106")
def test_nothing_runs_between_calls_and_a_session_may_be_closed_again_and_again(tmp_path):
    before = set(threading.enumerate())
    plugins = {"tools": TOOLS, "policy-limits": limits}
    with opened(tmp_path, plugins=plugins) as (session, _):
        list(session.call("look", {"target": "x"}))
        assert set(threading.enumerate()) == before
        session.close()
        session.close()
    assert set(threading.enumerate()) == before


def test_old_sessions_are_forgotten_before_they_fill_the_memory():
    buckets = Buckets()
    for number in range(MAX_KEPT + 10):
        buckets.wait_s(("s", number), 1, 0.0)
    assert len(buckets) == MAX_KEPT
    assert buckets.wait_s(("s", MAX_KEPT), 1, 0.0) == float("inf")
    assert buckets.wait_s(("s", 0), 1, 0.0) == 0.0


def test_calls_at_the_same_time_share_their_bucket(clock):
    buckets = Buckets(clock)
    waits: list[float] = []
    threads = [
        threading.Thread(target=lambda: waits.append(buckets.wait_s("key", 5, 1.0)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [0.0] * 5 + [1.0] * 15


@pytest.mark.contract("MA-104")
def test_the_model_reads_how_long_to_wait_and_no_person_is_asked(tmp_path):
    requests = []

    def agree(request):
        requests.append(request)
        return ApprovalAnswer(request.id, request.digest, approved=True)

    turns = [*([("launch", {"target": str(n)})] for n in range(3)), "Done."]
    plugins = {"tools": TOOLS, "policy-limits": limits}
    settings = {"policy-limits": Settings(dangerous_burst=2, dangerous_per_s=0.001)}
    played = play(tmp_path, turns, plugins=plugins, settings=settings, approve=agree)
    assert [result.error_class for result in played.results] == ["", "", "denied"]
    assert played.results[-1].output.startswith("denied: too many dangerous calls: wait ")
    assert len(requests) == 2


@pytest.mark.parametrize("value", [{"safe_burst": -1}, {"medium_per_s": -0.1}])
def test_a_negative_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=next(iter(value))):
        Settings(**value)
