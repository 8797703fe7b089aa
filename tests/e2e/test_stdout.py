"""Standard output holds the answer and nothing else, whatever plugins print."""

import json

import pytest
from place import Place

NOISE = """
import os, subprocess, sys
print("printed at import")
os.write(1, b"written at import\\n")
subprocess.run(["echo", "echoed at import"], check=True)

from nanocoder import hookimpl, tool


@tool(risk="safe", effects={"read"})
def noise() -> str:
    "Make noise."
    print("printed in a call")
    os.write(1, b"written in a call\\n")
    return "quiet"


@hookimpl
def nanocoder_tools():
    print("printed in a hook")
    return [noise]


@hookimpl
def nanocoder_before_execute(call):
    print("printed by a policy")


@hookimpl
def nanocoder_event(event):
    print("printed for an event")
"""


@pytest.mark.timeout(120)
@pytest.mark.rows(2)
@pytest.mark.parametrize(
    "words",
    [
        ("call", "noise", "{}", "--output", "json"),
        ("tools", "--output", "json"),
        ("plugins", "list", "--output", "json"),
        ("doctor", "--output=json"),
        ("run", "go", "--output", "json"),
        ("run", "go", "--output", "jsonl"),
    ],
)
def test_standard_output_is_json_whatever_a_plugin_prints(tmp_path, words):
    place = Place(tmp_path)
    for name in ("nanocoder-ui-json", "nanocoder-provider-scripted"):
        place.bring(name)
    place.install("acme-noise", {"acme_noise/__init__.py": NOISE}, "acme-noise")
    turns = tmp_path / "turns.json"
    calls = [{"name": "noise", "arguments": {}}]
    turns.write_text(json.dumps({"turns": [{"calls": calls}, {"text": "Done."}]}))
    more = ("--model", f"scripted/{turns}") if words[0] == "run" else ()
    done = place.run(*words, *more)
    text = done.stdout
    assert text, done
    lines = text.splitlines() if words[-1] == "jsonl" else [text]
    assert all(json.loads(line) for line in lines)
    is_loaded = words[0] in {"call", "run", "doctor"}
    assert ("printed at import" in done.stderr) == is_loaded
