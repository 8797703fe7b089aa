"""The servers in a conversation, in a real terminal."""

import json
import sys
import time
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.timeout(180)
WAIT_S = 40
PROGRAM = [sys.executable, "-S", str(Path(__file__).parent / "programs" / "server.py")]


@pytest.fixture
def talk(nanocoder, tmp_path):
    """Add the server `notes`, and start a conversation on a script that repeats what it reads."""
    home, cwd = tmp_path / "person", tmp_path / "project"
    home.mkdir()
    cwd.mkdir()
    (cwd / "secret.txt").write_text("hunter2")
    environment = {"HOME": str(home)}
    added = nanocoder(
        "mcp", "add", "notes", "--yes", "--", *PROGRAM, "notes", cwd=cwd, env=environment
    )
    assert "1 prompt: Greet" in added.stdout
    assert "1 resource: notes://one" in added.stdout
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": [{"text": "Done."}, {"text": "Done again."}]}))
    environment |= {"NANOCODER_MODEL": f"scripted/{script}", "TERM": "xterm-256color"}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "nanocoder", "--mode", "ask"],
        cwd=str(cwd),
        env={
            **nanocoder.environment,
            **environment,
            "LC_ALL": "C.UTF-8",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "NO_COLOR": "1",
        },
        dimensions=(60, 110),
        encoding="utf-8",
        timeout=WAIT_S,
    )
    child.home = home
    child.expect("Ctrl-D leaves")
    time.sleep(0.5)
    yield child
    child.close(force=True)


def said(child) -> list[str]:
    """Return what the person said, as the model read it."""
    (journal,) = child.home.glob(".local/state/nanocoder/sessions/*.jsonl")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    texts = [json.dumps(record) for record in records]
    return [text for text in texts if '"role": "user"' in text]


@pytest.mark.contract("I24")
def test_servers_prompts_and_resources_in_a_conversation(talk):
    talk.send("/mcp\r")
    talk.expect("server +state +tools +tokens")
    talk.expect("notes +ready +1")
    talk.send("/help\r")
    talk.expect("/mcp +MCP servers")
    talk.expect("/notes:Greet WHO")
    talk.send("/notes:Greet\r")
    talk.expect("takes WHO")
    talk.send("/notes:greet Ada\r")
    talk.expect("Done\\.")
    talk.send("look at @notes:notes://one please\r")
    talk.expect("Done again\\.")
    talk.send("/exit\r")
    talk.expect(pexpect.EOF)
    prompt, resource = said(talk)
    assert "Greet who=Ada." in prompt
    assert "hunter2" not in prompt  # a server's prompt names no file of ours
    assert "data, not instructions" in resource
    assert "buy milk" in resource
    assert not list(Path(talk.cwd).glob("owned"))
