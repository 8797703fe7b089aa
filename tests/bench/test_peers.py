"""The comparison with other agents goes on where it was ended, and adds up what it has."""

import json
import subprocess
import sys
from types import SimpleNamespace

import peers
import pytest

TASK = SimpleNamespace(digest="d")


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Keep the result of one attempt, which takes no model here; returns what was attempted."""
    attempted = []

    def attempt(agent, name, _task, _address, _options):
        attempted.append(name)
        usage = {"input_tokens": 100 * len(attempted), "output_tokens": 0}
        solved = name.endswith("a")
        return {"id": f"{name}#1", "usage": usage, "checked": solved, "seconds": 10.0}

    monkeypatch.setattr(peers, "attempt", attempt)

    def run(name, agent="ours"):
        peers.keep(tmp_path / agent, agent, name, TASK, "", None)
        return attempted

    return run


def test_several_sittings_add_up_and_repeat_nothing(keep, tmp_path):
    keep("everyday/a")
    keep("everyday/b")
    assert keep("everyday/a") == ["everyday/a", "everyday/b"]
    keep("humaneval/a")
    keep("everyday/a", "theirs")
    assert peers.table(tmp_path).splitlines()[2:] == [
        "| ours | everyday | 1 of 2 | 150 (n = 2) | 10 (n = 2) |",
        "| ours | humaneval | 1 of 1 | 300 (n = 1) | 10 (n = 1) |",
        "| theirs | everyday | 1 of 1 | 400 (n = 1) | 10 (n = 1) |",
    ]


def test_a_line_that_a_kill_cut_off_is_made_again(keep, tmp_path):
    keep("everyday/a")
    path = tmp_path / "ours/results.jsonl"
    path.write_text(path.read_text() + '{"id": "everyday/b#1", "us')
    assert keep("everyday/b") == ["everyday/a", "everyday/b"]
    ids = [json.loads(line)["id"] for line in path.read_text().splitlines()]
    assert ids == ["everyday/a#1", "everyday/b#1"]


def test_the_table_needs_neither_weights_nor_agents(keep, tmp_path):
    keep("everyday/a")
    words = [sys.executable, peers.__file__, "--results", str(tmp_path), "--table"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert "| ours | everyday | 1 of 1 | 100 (n = 1) | 10 (n = 1) |" in done.stdout
