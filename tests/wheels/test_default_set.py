"""What one prompt costs with the default set: counted in requests, tokens and modules, not time."""

import json
import subprocess
import sys

import pytest
import repository
from nanocoder import count_tokens

FIRST_REQUEST_TOKENS = 1_900
SLOW = {"asyncio", "cattrs", "importlib.metadata", "importlib_metadata", "prompt_toolkit", "rich"}
SERVER = repository.ROOT / "tests/bench/model_server.py"
TURNS = [
    {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
    {"calls": [{"name": "read_file", "arguments": {"path": "b.txt"}}]},
    {"text": "Done."},
]
# Tells what is loaded when the first request is about to leave and when its answer has come.
SCRIPT = """
import json, sys
import nanocoder
loaded = {}
with nanocoder.open_session(sys.argv[1], model="openai/m", mode="auto") as session:
    for event in session.run("Count the lines of a.txt and b.txt."):
        if event.kind == "request.started":
            loaded.setdefault("before", sorted(sys.modules))
print(json.dumps({"loaded": loaded, "report": session.report.data()}))
"""

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("counted")]


@pytest.fixture(scope="module")
def seen(make_installed, tmp_path_factory):
    """Run one prompt of three turns with the default set; return what server and program saw."""
    installed = make_installed("nanocoder-set-default")
    work = tmp_path_factory.mktemp("counted")
    for name in ("a.txt", "b.txt"):
        (work / name).write_text("one\ntwo\n")
    installed.nanocoder("tools")  # the manifest is written at the first start
    script = installed.folder / "counted.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        server.stdin.write(json.dumps(TURNS) + "\n")
        server.stdin.flush()
        base = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        done = subprocess.run(
            [str(installed.python), str(script), str(work)],
            env={**installed.environment(), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": base},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        server.stdin.write("?\n")
        server.stdin.flush()
        requests = json.loads(server.stdout.readline())
        server.stdin.close()
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "requests": requests}


def test_a_prompt_makes_no_side_requests(seen):
    assert seen["report"]["stop_reason"] == "done"
    assert len(seen["requests"]["came"]) == len(TURNS)


def test_the_first_request_of_the_default_set_is_small(seen):
    assert count_tokens(seen["requests"]["first"]) <= FIRST_REQUEST_TOKENS


def test_nothing_slow_is_imported_before_the_first_request(seen):
    before = set(seen["loaded"]["before"])
    assert sorted(before & SLOW) == []
    loaded = {name.split(".")[0] for name in before if name.startswith("nanocoder_tool_")}
    assert sorted(loaded - changing_requests()) == []


def changing_requests():
    """Return the plugins that see each request, or add to the prompt: they are in use by then."""
    hooks = ("def nanocoder_before_request(", "def nanocoder_prompt(")
    return {
        source.name
        for package in repository.plugins()
        for source in package.sources
        for path in source.rglob("*.py")
        if any(hook in path.read_text(encoding="utf-8") for hook in hooks)
    }


def test_each_turn_adds_its_own_messages_and_nothing_else(seen):
    first, second, third = seen["requests"]["bodies"]
    # A turn appends one call and one result of the same size; what was sent stays as it was.
    assert abs((third - second) - (second - first)) <= 8
