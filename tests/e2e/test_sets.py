"""A company's set: a package that depends on another set and on plugins of its own."""

import json

import pytest
from place import Place

PLUGIN = """
from nanocoder import hookimpl, tool


@tool(name={name!r}, risk="safe", effects={{"read"}})
def work() -> str:
    "Work."
    return "worked"


@hookimpl
def nanocoder_tools():
    return [work]
"""


@pytest.mark.timeout(120)
def test_a_set_has_what_the_sets_that_it_requires_have(tmp_path):
    place = Place(tmp_path)
    for name in ("nanocoder-command-plugins", "nanocoder-ui-json", "nanocoder-provider-scripted"):
        place.bring(name)
    for name in ("tool-usual", "tool-own", "tool-other"):
        source = PLUGIN.format(name=name.replace("-", "_"))
        place.install(f"nanocoder-{name}", {f"nanocoder_{name.replace('-', '_')}.py": source}, name)
    usual = ("nanocoder-tool-usual", "nanocoder-provider-scripted", "nanocoder-ui-json")
    place.install("nanocoder-set-usual", {}, requires=("nanocoder-set-acme", *usual))
    place.install("nanocoder-set-acme", {}, requires=("nanocoder-set-usual", "nanocoder_tool_own"))
    called = [{"name": f"tool_{name}", "arguments": {}} for name in ("usual", "own", "other")]
    turns = tmp_path / "turns.json"
    turns.write_text(json.dumps({"turns": [{"calls": called}, {"text": "Done."}]}))
    words = ("run", "go", "--set", "acme", "--model", f"scripted/{turns}", "--output", "json")
    done = place.run(*words)
    assert done.returncode == 0, done
    report = json.loads(done.stdout)
    assert [one["status"] for one in report["tool_calls"]] == ["ok", "ok", "error"], report
