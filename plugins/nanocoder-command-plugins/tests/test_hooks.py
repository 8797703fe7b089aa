"""The list of hooks, and who implements them."""

import json

import pytest
from nanocoder import STYLES

pytestmark = [pytest.mark.timeout(60), pytest.mark.contract("NT-53")]


def test_every_hook_is_listed_in_order_with_its_style_and_its_plugins(nanocoder):
    done = nanocoder("plugins", "hooks", "--output", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["hook"], row["style"]) for row in rows] == list(STYLES.items())
    plugins = {row["hook"]: row["plugins"] for row in rows}
    assert plugins["nanocoder_commands"]["command-author"]
    assert "command-author" not in plugins["nanocoder_tools"]


def test_a_person_reads_a_table(nanocoder):
    head, *rows = nanocoder("plugins", "hooks").stdout.splitlines()
    assert head.split() == ["hook", "style", "plugins"]
    assert len(rows) == len(STYLES)
    [judge] = [row for row in rows if row.startswith("nanocoder_before_execute ")]
    assert judge.split()[1] == "judge"
