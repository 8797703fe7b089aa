"""The comparison of sandboxes itself works, without and with a peer. No time is asserted."""

import argparse

import pytest
import sandbox_cost

TIMES = {
    (sandbox_cost.FLOOR, sandbox_cost.PLAIN): [1.0, 2.0, 4.0],
    ("agent", sandbox_cost.PLAIN): [10.0, 20.0, 40.0],
    ("agent", "box"): [15.0, 40.0, 60.0],
}
SERVER = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"method": "noted"}))
        result = {"exitCode": int(request["params"].get("command") == ["false"])}
        print(json.dumps({"id": request["id"], "result": result}), flush=True)
"""


def test_ratios_are_those_of_pairs():
    rows = [*sandbox_cost.rows(TIMES)]
    assert rows[2]["ms"] == 40.0
    assert rows[2]["more_ms"] == 20.0
    assert rows[2]["ratio"] == 1.5
    assert rows[2]["by_floor"] == 15.0
    assert "| agent | box | 40.0 ms | 20.0 ms, 1.50 x | 15.0 x |" in sandbox_cost.table(rows)


@pytest.mark.timeout(120)
def test_each_agent_that_is_here_takes_turns(tmp_path):
    program = tmp_path / "codex"
    program.write_text(SERVER)
    program.chmod(0o755)
    options = argparse.Namespace(codex=program, sandbox_runtime=None)
    with sandbox_cost.sessions(options) as runs:
        times = sandbox_cost.measure(runs, 1, 0)
    assert {agent for agent, _ in times} == {"bash -c true", "nanocoder", "codex"}
    assert all(len(own) == 1 for own in times.values())
    assert ("nanocoder", "no sandbox") in times
