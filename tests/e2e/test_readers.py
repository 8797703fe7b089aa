"""A rule about what may be read holds for every tool that reads, by whatever way it gets there."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from nanocoder import open_session

Call = Callable[..., dict[str, Any]]

HIDDEN = {
    ".env": "KEY=hidden-value",
    "server.pem": "PEM hidden-value",
    ".ssh/config": "hidden-value",
    "secrets/x": "hidden-value",
    "secrets/k.py": "def launch_code(a='hidden-value'): pass",
    "private/deep/y.py": "def private_code(a='hidden-value'): pass",
}
RULES = """
[plugins.policy-rules]
deny = ["*(secrets/**)", "read_file(private/**)", "read_file(own/**) @review"]
ask = ["read_file(asked/**)"]
"""


@pytest.fixture
def call(tmp_path, monkeypatch) -> Call:
    """Call an installed tool in a workspace that has files which rules hide."""
    for place in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{place}_HOME", str(tmp_path / place))
    config = tmp_path / "CONFIG/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(RULES)
    root = tmp_path / "work"
    shown = {"a.txt": "shown-value", "asked/z": "asked-value", "main.py": "def main(): pass"}
    for name, text in {**HIDDEN, **shown}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    (root / "link").symlink_to("secrets/x")

    def run(name: str, *, mode: str = "plan", **arguments: Any) -> dict[str, Any]:
        with open_session(root, mode=mode, persist=False) as session:
            *_, last = session.call(name, arguments)
        return dict(last.data)

    return run


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep", {"pattern": "value"}),
        ("grep", {"pattern": "val.e", "output": "files"}),
        ("grep", {"pattern": "value", "output": "count", "glob": ".e*"}),
        ("grep", {"pattern": "value", "type": "py", "context": 1}),
        ("glob", {"pattern": "**/*"}),
        ("list_files", {"depth": 9}),
        ("code_map", {"operation": "symbols"}),
        ("code_map", {"operation": "references", "target": "launch_code"}),
        ("code_complexity", {"extensions": [".py", ".pem"]}),
    ],
)
def test_what_searches_leaves_out_what_a_rule_hides(call, tool, arguments):
    result = json.dumps(call(tool, **arguments))
    assert "hidden-value" not in result
    assert not any(name in result for name in (*HIDDEN, "private", "secrets", "asked"))


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "private/deep/y.py"}),
        ("read_file", {"path": "link"}),
        ("grep", {"pattern": "value", "path": "private/deep"}),
        ("grep", {"pattern": "value", "path": "link"}),
        ("list_files", {"path": "private"}),
        ("glob", {"pattern": "*", "path": "private/deep"}),
        ("code_map", {"operation": "symbols", "target": "private"}),
    ],
)
def test_what_a_rule_keeps_from_one_reader_no_reader_may_name(call, tool, arguments):
    assert call(tool, **arguments)["error_class"] == "denied"


def test_a_search_asks_where_it_is_told_to_start_in_what_a_rule_asks_about(call):
    assert call("grep", pattern="value", path="asked")["error_class"] == "approval_needed"


def test_a_preview_tells_nobody_what_a_rule_hides(call):
    edit = {"path": "private/deep/y.py", "old_string": "def private_cod", "new_string": "x"}
    result = json.dumps(call("edit_file", mode="ask", **edit))
    assert "hidden-value" not in result


@pytest.mark.contract("C5", "C15")
@pytest.mark.needs("bwrap")
@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "command",
    [
        "cat private/deep/y.py",
        "cat link",
        "cat secrets/*",
        "python3 -c 'print(open(\"private/deep/y.py\").read())'",
        "grep -r value .",
        "cd private && cat deep/y.py",
        "f=private; cat $f/deep/y.py",
        "ln -s private p && cat p/deep/y.py",
    ],
)
def test_a_command_reads_nothing_that_a_rule_hides(call, command):
    assert "hidden-value" not in json.dumps(call("bash", mode="auto", command=command))
    assert "shown-value" in json.dumps(call("bash", mode="auto", command="cat a.txt"))
