"""The shell commands among the hostile cases, and those of an ordinary day."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from nanocoder import Decision
from nanocoder_policy_shell.judge import judge as judge_text
from nanocoder_policy_shell.settings import Settings

ROOT = Path(__file__).parents[3]
SPECIAL = frozenset("$`\\<>(){}*?~\n#")
MOST_MS = 3.0


def commands_in(value: Any) -> Iterator[str]:
    """Yield all commands in a nested value."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if key == "command" and isinstance(child, str):
            yield child
        elif isinstance(child, dict | list):
            yield from commands_in(child)


def payloads() -> list[str]:
    text = (ROOT / "tests/hostile/cases.yaml").read_text()
    document = yaml.load(text, Loader=yaml.CSafeLoader)  # ten times faster than the one in Python
    cases = [case for case in document["cases"] if case["area"] == "shell-permission"]
    return sorted(set(commands_in([case["action"] for case in cases])))


def everyday_commands() -> list[str]:
    [path] = ROOT.glob("plugins/*/tests/everyday_calls.jsonl")
    return sorted(set(commands_in([json.loads(line) for line in path.read_text().splitlines()])))


@pytest.mark.parametrize("command", payloads())
def test_every_payload_with_a_special_sign_has_a_part_that_is_named(judge, command):
    verdict = judge(command)
    assert verdict is None or verdict.decision in {Decision.ABSTAIN, Decision.DENY}
    bare = re.sub(r"'[^']*'|2?>/dev/null|2>&1", "", command)
    if not SPECIAL.isdisjoint(re.sub(r'"[^"$`\\]*"', "", bare)):
        assert verdict is not None, command
        assert verdict.reason


def test_there_are_payloads():
    assert len(payloads()) > 50


def test_an_ordinary_day_has_no_command_that_is_denied(judge):
    verdicts = {command: judge(command) for command in everyday_commands()}
    assert len(verdicts) > 50
    assert not {
        command
        for command, verdict in verdicts.items()
        if verdict is not None and verdict.decision is not Decision.ABSTAIN
    }


def test_an_everyday_command_takes_at_most_a_few_milliseconds():
    commands = everyday_commands()
    times = []
    for _ in range(5):
        began = time.process_time()
        for command in commands:
            judge_text(command, Settings())
        times.append((time.process_time() - began) / len(commands) * 1_000)
    assert min(times) < MOST_MS
