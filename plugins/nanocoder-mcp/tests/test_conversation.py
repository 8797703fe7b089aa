"""The servers in a conversation, in a real terminal."""

import json
import sys
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.timeout(180)
WAIT_S = 40
CURSOR = "\x1b[?25h"
PROGRAM = [sys.executable, "-S", str(Path(__file__).parent / "programs" / "server.py")]


@pytest.fixture
def begin(nanocoder, tmp_path):
    """Add the server `notes`, and start a conversation on a script of turns."""
    started = []

    def start(*turns, config=""):
        started.append(_start(nanocoder, tmp_path, turns, config))
        return started[0]

    yield start
    for child in started:
        child.close(force=True)


@pytest.fixture
def talk(begin):
    return begin({"text": "Done."}, {"text": "Done again."})


WAITS = r"not\s+count\s+until\s+you\s+trust\s+them"
HOUSE = {"mcpServers": {"house": {"command": PROGRAM[0], "args": [*PROGRAM[1:], "good"]}}}


@pytest.fixture
def in_project(begin, tmp_path):
    """Start a conversation in a project that names a server, and says so at the start."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.mcp.json").write_text(json.dumps(HOUSE))
    talk = begin(
        {"calls": [{"name": "mcp_house_echo", "arguments": {"text": "hi"}}]}, {"text": "Ok."}
    )
    talk.send("/mcp\r")
    talk.expect("notes +ready")
    talk.expect(WAITS)
    talk.expect("/trust")
    return talk


def test_a_project_is_trusted_and_its_server_reviewed_in_the_conversation(in_project):
    talk = in_project
    talk.send("/trust\r")
    talk.expect("brings\\s+servers:")
    talk.expect("house\\s+starts:")
    talk.expect("only\\s+after\\s+/mcp\\s+review")
    talk.expect("Trust these settings\\?")
    talk.send("y")
    talk.expect("Trusted\\. Its settings now apply")
    talk.send("/mcp review\r")
    talk.expect("house\\s+starts:")
    talk.expect("Start it to see its tools\\?")
    talk.send("y")
    talk.expect("mcp_house_echo \\(\\d+ tokens\\):")
    talk.expect("> Say it again\\.")
    talk.expect("Accept this of house\\?")
    talk.send("y")
    talk.expect("1 tool of house can be called now")
    talk.expect("tools that are new: mcp_house_echo")
    talk.send("/mcp\r")
    talk.expect("house +ready +1")
    talk.send("go\r")
    talk.expect("Approve\\?")
    talk.send("y")
    talk.expect("Ok\\.")


def test_a_no_to_a_review_in_the_conversation_accepts_nothing(in_project):
    talk = in_project
    talk.send("/trust\r")
    talk.expect("Trust these settings\\?")
    talk.send("n")
    talk.expect("Not trusted\\.")
    talk.send("/mcp review house\r")
    talk.expect(WAITS)
    talk.send("/mcp\r")
    talk.expect(WAITS)


@pytest.mark.full
def test_what_was_reviewed_in_another_terminal_counts_after_a_reload(in_project, nanocoder):
    talk, options = in_project, {"cwd": in_project.cwd, "env": {"HOME": str(in_project.home)}}
    assert nanocoder("config", "trust", "--yes", **options).returncode == 0
    talk.send("/mcp\r")
    talk.expect("house +not reviewed +0")
    assert nanocoder("mcp", "review", "house", "--yes", **options).returncode == 0
    talk.send("/reload\r")
    talk.expect("tools that are new: mcp_house_echo")
    talk.send("/mcp\r")
    talk.expect("house +ready +1")


def _start(nanocoder, tmp_path, turns, config):
    home, cwd = tmp_path / "person", tmp_path / "project"
    home.mkdir()
    cwd.mkdir(exist_ok=True)
    (cwd / "secret.txt").write_text("hunter2")
    environment = {"HOME": str(home)}
    added = nanocoder(
        "mcp", "add", "notes", "--yes", "--", *PROGRAM, "notes", cwd=cwd, env=environment
    )
    assert "1 prompt: Greet" in added.stdout
    assert "1 resource: notes://one" in added.stdout
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": turns}))
    if config:
        with (home / ".config/nanocoder/config.toml").open("a") as file:
            file.write(config)
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
    child.expect_exact(CURSOR)  # the prompt takes keys
    return child


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
    talk.expect("/mcp .*MCP servers")
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


def echo(text):
    return {"calls": [{"name": "mcp_notes_echo", "arguments": {"text": text}}]}


@pytest.mark.full
def test_a_tool_of_a_server_can_be_granted_for_the_session(begin):
    talk = begin(echo("one"), echo("two"), {"text": "Done."})
    talk.send("go\r")
    talk.expect("a grants mcp_notes_echo for the session: any arguments, or exactly these")
    talk.send("a")
    talk.expect("with exactly these arguments, in this session")
    talk.expect("How far\\?")
    talk.send("p\r")  # a server may serve other tools tomorrow
    talk.expect("none of these answers")
    talk.send("s\r")
    assert talk.expect(["Done\\.", "Approve\\?"]) == 0
    assert not (talk.home / ".local/state/nanocoder/grants.json").exists()


@pytest.mark.full
def test_exactly_these_arguments_of_a_tool_of_a_server_can_be_granted(begin):
    talk = begin(echo("one"), echo("one"), echo("two"), {"text": "Done."})
    talk.send("go\r")
    talk.expect("Approve\\?")
    talk.send("a")
    talk.expect("How far\\?")
    talk.send("e\r")
    talk.expect("two")
    assert "Approve?" not in talk.before
    talk.expect("Approve\\?")
    talk.send("y")
    talk.expect("Done\\.")


@pytest.mark.rows(1)
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_a_grant_for_a_tool_of_a_server_crosses_no_rule(begin, kind):
    rule = f'\n[plugins.policy-rules]\n{kind} = ["mcp_notes_echo(*two*)"]\n'
    talk = begin(echo("one"), echo("two"), {"text": "Done."}, config=rule)
    talk.send("go\r")
    talk.expect("How|Approve\\?")
    talk.send("a")
    talk.expect("How far\\?")
    talk.send("s\r")
    if kind == "ask":
        talk.expect("the rule .* needs your approval")
        talk.expect("Approve\\?")
        talk.send("n")
    talk.expect("denied")
    talk.expect("Done\\.")
