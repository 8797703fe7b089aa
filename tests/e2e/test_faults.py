"""What is broken on purpose is seen, left alone, and stands in the figures: as users run it."""

import json

import pytest

pytestmark = pytest.mark.timeout(600)

SETTINGS = """
[plugins.acme-faults]
faults = { read_file = "error" }

[plugins.policy-limits]
breaker_failures = 2
breaker_cooldown_s = 60
breaker_faults = ["injected_fault"]

[plugins.command-observe]
error_rate = { "*" = 0.5 }
"""


@pytest.fixture(scope="module")
def installed(make_installed):
    return make_installed(
        "nanocoder-command-observe",
        "nanocoder-tool-read",
        "nanocoder-policy-limits",
        "nanocoder-store-files",
        "nanocoder-provider-scripted",
        "nanocoder-ui-plain",
        "acme-nanocoder-faults",
    )


@pytest.mark.contract("NT-66")
@pytest.mark.contract("NT-71")
@pytest.mark.contract("NT-86")
@pytest.mark.contract("NT-87")
@pytest.mark.contract("NT-93")
def test_a_broken_tool_is_left_alone_the_run_goes_on_and_the_figures_show_it(installed, tmp_path):
    config = installed.folder / "home/.config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(SETTINGS)
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("x")
    calls = [{"name": "read_file", "arguments": {"path": f"{number}.txt"}} for number in range(4)]
    script = tmp_path / "script.json"
    turns = [*({"calls": [call]} for call in calls), {"text": "It is broken."}]
    script.write_text(json.dumps({"turns": turns}))

    done = installed.nanocoder("run", "--model", f"scripted/{script}", "go", cwd=tmp_path)
    # The last call of the tool was refused by the limit.
    assert (done.returncode, done.stdout) == (6, "It is broken.\n")
    assert done.stderr.count("read_file keeps failing (injected_fault): wait ") == 2

    figures = installed.nanocoder("stats", "--check", "--output", "json", cwd=tmp_path)
    assert figures.returncode == 1
    [row] = json.loads(figures.stdout)["tools"]
    assert (row["calls"], row["errors"], row["denied"]) == (4, 2, 2)
    assert row["missed"] == ["error_rate 1 > 0.5"]

    trace = installed.nanocoder("trace", "last", "--output", "json", cwd=tmp_path)
    stages = {one["stage"]: one["status"] for one in json.loads(trace.stdout)["stages"]}
    assert (stages["policy"], stages["execution"]) == ("denied", "not reached")
