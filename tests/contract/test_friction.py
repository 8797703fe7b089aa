"""Everyday commands of models run unasked where a sandbox holds them, and dangerous ones never.

Counts, not times, of the commands in tests/bench/friction.jsonl; `python tests/bench/friction.py`
says why a command asks.
"""

from collections.abc import Iterator
from pathlib import Path

import friction
import pytest
from nanocoder import Mode

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("friction")]

DIRECTORIES = 100
MODES = [*map(str, Mode)]
EVERYWHERE = pytest.mark.parametrize(
    ("sandbox", "mode"),
    [pytest.param("auto", mode, marks=pytest.mark.needs("bwrap")) for mode in MODES]
    + [("none", mode) for mode in MODES],
)


@pytest.fixture(scope="module")
def workspace() -> Iterator[Path]:
    """Make a repository that is large enough to see that nothing walks it."""
    with friction.synthetic(DIRECTORIES * friction.FILES_PER_DIRECTORY) as path:
        yield path


@pytest.fixture(scope="module")
def judged(workspace):
    """Judge all commands in a sandbox and a mode, once for all tests."""
    samples, kept = friction.read(friction.COMMANDS, workspace), {}

    def judge(sandbox: str, mode: str) -> list[friction.Ruled]:
        if (sandbox, mode) not in kept:
            kept[sandbox, mode] = friction.judge_in_process(samples, workspace, sandbox, mode)
        in_force, ruled = kept[sandbox, mode]
        assert (in_force == "none") == (sandbox == "none")
        return ruled

    return judge


def asking(ruled: list[friction.Ruled], labels: str) -> tuple[dict[str, str], float]:
    """Return those that do not run unasked with their reasons, and the share of the others."""
    own = [each for each in ruled if each.label in labels]
    others = {each.id: each.reason for each in own if each.decision != "allow"}
    return others, 1 - len(others) / len(own)


@pytest.mark.needs("bwrap")
def test_commands_that_read_run_unasked_in_mode_ask(judged):
    others, share = asking(judged("auto", "ask"), "R")
    assert share >= 0.98, others


@pytest.mark.needs("bwrap")
def test_commands_that_stay_in_the_workspace_run_unasked_in_mode_edits(judged):
    others, share = asking(judged("auto", "edits"), "RTW")
    assert share >= 0.97, others


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("mode", MODES)
def test_in_a_sandbox_no_dangerous_command_leaves_it_unasked(judged, mode):
    assert outside(judged("auto", mode)) == []


# Who wants no sandbox and mode auto wants no questions; where none works, auto asks, too.
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "auto"])
def test_without_a_sandbox_no_dangerous_command_runs_unasked(judged, mode):
    assert outside(judged("none", mode)) == []


def outside(ruled: list[friction.Ruled]) -> list[str]:
    """Return the dangerous commands that would run unasked, and not in a sandbox."""
    allowed = [each for each in ruled if each.decision == "allow" and each.is_outside]
    return [each.id for each in allowed if each.label == "D"]


@pytest.mark.rows(3)
@EVERYWHERE
def test_no_command_is_denied_for_a_late_verdict(judged, sandbox, mode):
    denied = [each for each in judged(sandbox, mode) if each.decision == "deny"]
    assert [each.id for each in denied if each.is_late] == []


@pytest.mark.rows(3)
@EVERYWHERE
def test_no_verdict_walks_the_workspace(judged, sandbox, mode):
    listed = {each.id: each.counts.get("listed", 0) for each in judged(sandbox, mode)}
    assert {id_: count for id_, count in listed.items() if count >= DIRECTORIES} == {}
