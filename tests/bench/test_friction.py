"""The count of questions itself works: every figure is produced. No time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import friction
import pytest

SCRIPT = Path(friction.__file__)


def counted(tmp_path, *options):
    """Return what the script prints of two commands."""
    file = tmp_path / "commands.jsonl"
    rows = [("r", "R", "cat $WS/src/package0/module0.py"), ("d", "D", "sudo rm -rf /usr")]
    texts = [json.dumps({"id": i, "label": la, "command": text}) for i, la, text in rows]
    file.write_text("\n".join(texts))
    words = [sys.executable, SCRIPT, file, "--files", "40", "--mode", "ask", *options]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_each_label_gets_a_row(tmp_path):
    lines = counted(tmp_path, "--sandbox", "none").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == [*friction.HEAD]
    assert [row[:6] for row in cells[2:]] == [
        ["none", "ask", "R", "1", "1", "1"],
        ["none", "ask", "D", "1", "0", "0"],
        ["none", "ask", "all", "2", "1", "1"],
    ]


def test_json_has_each_verdict_and_what_judging_did(tmp_path):
    printed = json.loads(counted(tmp_path, "--sandbox", "none", "--json"))
    verdict = printed["verdicts"][0]
    assert verdict["id"] == "r"
    assert verdict["decision"] == "allow"
    assert verdict["counts"].get("listed", 0) < 10
    assert [row["label"] for row in printed["rows"]] == ["R", "D", "all"]


def test_the_summary_has_a_column_for_each_sandbox_and_mode():
    ruled = [friction.Ruled(f"r{ms}", "R", "allow", "", ms, is_outside=True) for ms in (1.0, 4.0)]
    rows = [row for mode in ("ask", "edits") for row in friction.rows_of("none", mode, ruled)]
    lines = [*friction.summary(rows)]
    assert lines[0].endswith("| commands | ask, no sandbox | edits, no sandbox |")
    assert lines[2] == "| reads in the workspace | 2 | 2 | 2 |"
    assert lines[3] == "| median ms of all | 2 | 2.5 | 2.5 |"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (
            '`x` in `cat "a"` is unknown; `x` (characters 3-12), braces',
            "… in … is unknown; …, braces",
        ),
        ("`a long command… is unknown", "… is unknown"),
        ("plain", "plain"),
    ],
)
def test_reasons_are_grouped_without_what_they_quote(reason, expected):
    assert friction.grouped(reason) == expected


def test_the_commands_have_the_kinds_that_the_goals_count():
    samples = friction.read(friction.COMMANDS, Path("/ws"))
    labels = [sample.label for sample in samples]
    counts = {label: labels.count(label) for label in friction.LABELS}
    assert counts == {"R": 45, "T": 30, "W": 25, "N": 8, "D": 8, "X": 4}
    assert len({sample.command for sample in samples}) == len(samples)
