"""Rules of a repository hold in its subfolders."""

import json

import pytest

pytestmark = [pytest.mark.contract("M1"), pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("rule", "tool", "arguments"),
    [
        ("bash(make release)", "bash", {"command": "make release"}),
        ("write_file(src/gen/**)", "write_file", {"path": "gen/a.py", "content": "x"}),
        ("read_file(./src/gen/a.py)", "read_file", {"path": "gen/a.py"}),
    ],
)
def test_a_deny_at_the_root_of_a_repository_holds_in_a_subfolder(nanocoder, rule, tool, arguments):
    root = nanocoder.cwd
    for folder in (".git", ".nanocoder", "src/gen"):
        (root / folder).mkdir(parents=True)
    (root / "src/gen/a.py").write_text("x = 1\n")
    settings = f"[plugins.policy-rules]\ndeny = [{json.dumps(rule)}]\n"
    (root / ".nanocoder/config.toml").write_text(settings)
    words = ("call", tool, json.dumps(arguments), "--mode", "auto")
    done = nanocoder("--cwd", "src", *words)
    assert done.returncode == 6, done.stderr
    assert rule in done.stderr
    assert (root / "src/gen/a.py").read_text() == "x = 1\n"
    (root / ".git").rmdir()
    assert nanocoder("--cwd", "src", *words).returncode != 6
