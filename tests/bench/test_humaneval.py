"""The bench judges programs rightly, and its figures are those of the formulas."""

import gzip
import json
from pathlib import Path

import humaneval
import pytest
from attrs import asdict
from humaneval import Problem

HALF = Problem(
    task_id="T/0",
    prompt='import math\n\n\ndef half(x):\n    """Return the half of x, rounded down."""\n',
    entry_point="half",
    test="def check(candidate):\n    assert candidate(5) == 2\n    assert math.floor(1.5) == 1\n",
    canonical_solution="    return x // 2\n",
)


def test_the_tests_of_a_problem_judge_a_program() -> None:
    assert humaneval.passes(HALF, HALF.prompt + HALF.canonical_solution)
    assert not humaneval.passes(HALF, HALF.prompt + "    return x / 2\n")
    assert not humaneval.passes(HALF, "def half(x):\n    return x // 2\n")  # without the import
    assert not humaneval.passes(HALF, "")


def test_an_attempt_is_judged_and_its_program_kept(tmp_path: Path) -> None:
    code = HALF.prompt + HALF.canonical_solution
    outcome = humaneval.attempt(HALF, "agent", lambda _: (code, "done"), tmp_path / "new")
    assert (outcome.solved, outcome.stopped) == (True, "done")
    assert (tmp_path / "new/T-0-agent.py").read_text() == code


@pytest.mark.parametrize(
    "reply",
    [
        "```python\ndef half(x):\n    return x // 2\n```\nIt rounds down.",
        "Here it is:\n```\ndef half(x):\n    return x // 2",
        "```python\n    return x // 2\n```",
        "    return x // 2\n",
    ],
)
def test_a_reply_in_a_chat_becomes_a_program(reply: str) -> None:
    assert humaneval.passes(HALF, humaneval.code_of(HALF, reply))


def test_problems_are_read_and_a_larger_sample_begins_with_the_smaller(tmp_path: Path) -> None:
    rows = [{**asdict(HALF), "task_id": f"T/{number}"} for number in range(100)]
    data = tmp_path / "problems.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    every = humaneval.problems(data)
    assert len(humaneval.chosen(every, 7, 0)) == 7
    assert humaneval.chosen(every, 0, 40)[:20] == humaneval.chosen(every, 0, 20)
    assert len(humaneval.chosen(every, 0, 0)) == 100
