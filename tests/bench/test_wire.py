"""The comparison of mistakes plays each against nanocoder, and counts the turns."""

from pathlib import Path

import pytest
import wire
from wire_calls import Step, reply_of
from wire_mistakes import MISTAKES, prepare
from wire_server import ToolForm

BY_NAME = {mistake.name: mistake for mistake in MISTAKES}
READ = ToolForm("Read", {"properties": {"file_path": {"type": "string"}}})
SHELL = ToolForm("shell", {"properties": {"command": {"type": "array"}}})


def test_there_are_sixty_mistakes_each_with_a_name_of_its_own():
    assert len(MISTAKES) == len(BY_NAME) == 60


def test_nothing_is_done_before_the_work_begins(tmp_path):
    prepare(tmp_path)
    assert not [mistake.name for mistake in MISTAKES if mistake.is_done(tmp_path, "")]


def test_a_step_is_put_into_the_tools_that_an_agent_has():
    step = Step("read", {"path": "a.py"})
    assert reply_of(step, [READ, SHELL]).arguments == '{"file_path": "a.py"}'
    assert reply_of(step, [SHELL]).arguments == '{"command": ["bash", "-lc", "cat a.py"]}'
    foreign = reply_of(Step("read", {"path": "a.py"}, "tool"), [READ])
    assert foreign.name == "read_file"
    renamed = reply_of(Step("read", {"path": "a.py"}, "name:path"), [READ])
    assert renamed.arguments == '{"path": "a.py"}'


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("foreign name of the reading tool", 1),
        ("comma before the end", 1),
        ("limit in milliseconds", 1),
        ("reply cut off in a file", 2),
        ("misspelt path", 2),
        ("program that asks", 2),
        ("signal to the parent", 1),
    ],
)
def test_a_mistake_costs_no_more_turns_than_it_must(name, turns):
    outcome = wire.play("nanocoder", BY_NAME[name], Path())
    assert outcome.turns == turns, outcome.results


def test_the_table_has_a_row_for_each_mistake_and_the_sums():
    rows = [
        {"agent": "nanocoder", "mistake": "misspelt path", "turns": 2},
        {"agent": "pi", "mistake": "misspelt path", "turns": 0},
    ]
    lines = list(wire.table(rows))
    assert lines[0] == "| mistake | nanocoder | pi |"
    assert lines[2] == "| misspelt path | 2 | never |"
    assert lines[3] == "| **done** | 1 of 1 | 0 of 1 |"
    assert lines[4].endswith("| 2 | 10 |")
