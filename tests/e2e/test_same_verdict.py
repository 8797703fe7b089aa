"""The same call gets the same verdict on every surface: a table of calls times the ways in."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from command_line import COMMAND
from mcp import Client, StdioServerParameters
from nanocoder import Finished, Plugins, ProviderSpec, ToolCall, Usage, hookimpl, open_session, tool
from nanocoder.config import Config
from nanocoder.session.setup import installed_plugins

pytestmark = pytest.mark.timeout(300)

RULES = """mode = "ask"
sandbox = "none"
[plugins.policy-rules]
deny = ["bash(git push *)", "write_file(secrets/**)", "read_file(private/**)"]
ask = ["bash(pytest --deploy)"]
allow = ["bash(true *)", "bash(pytest *)", "write_file(docs/**)"]
"""
WRAPPED = "[plugins.tool-wrap]\nretry = { read_file = 2 }\ntimeout_s = { bash = 30 }\n"
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {"path": "README.md"}, "allow"),
    ("read_file", {"path": "./src/../README.md"}, "allow"),
    ("read_file", {"path": ".env"}, "deny"),
    ("read_file", {"path": "src/../.env"}, "deny"),
    ("read_file", {"path": "link"}, "deny"),
    ("read_file", {"path": "private/a.txt"}, "deny"),
    ("list_files", {}, "allow"),
    ("glob", {"pattern": "**/*.py"}, "allow"),
    ("grep", {"pattern": "TODO"}, "allow"),
    ("write_file", {"path": "docs/a.md", "content": "x"}, "allow"),
    ("write_file", {"path": "notes.txt", "content": "x"}, "ask"),
    ("write_file", {"path": "secrets/a", "content": "x"}, "deny"),
    ("write_file", {"path": "docs/../secrets/a", "content": "x"}, "deny"),
    ("write_file", {"path": ".github/workflows/ci.yml", "content": "x"}, "ask"),
    ("delete_file", {"path": "old.txt"}, "ask"),
    ("bash", {"command": "ls -la"}, "allow"),
    ("bash", {"command": "cat README.md"}, "allow"),
    ("bash", {"command": "pwd && ls src"}, "allow"),
    ("bash", {"command": "true x"}, "allow"),
    ("bash", {"command": "cat .env"}, "deny"),
    ("bash", {"command": "cat link"}, "deny"),
    ("bash", {"command": "git push origin main"}, "deny"),
    ("bash", {"command": "cd src && git push"}, "deny"),
    ("bash", {"command": "env git push"}, "deny"),
    ("bash", {"command": "bash -c 'git push'"}, "deny"),
    ("bash", {"command": "pytest --deploy"}, "ask"),
    ("bash", {"command": "make all"}, "ask"),
    ("bash", {"command": "true x; make all"}, "ask"),
    ("bash", {"command": "echo $(id)"}, "ask"),
    ("bash", {"command": "ls > listing"}, "ask"),
]
EXPECTED = [verdict for _, _, verdict in CALLS]
DIALECTS = {"m31a": "Bash", "nano": "bash", "opencli": "bash", "s02": "bash", "tutorial": "bash"}
COMMANDS = [(arguments, verdict) for name, arguments, verdict in CALLS if name == "bash"]


@tool(risk="safe", effects=["read", "write", "execute", "network"], composed_of=["*"])
def several(ctx: Any, calls: list[dict[str, Any]]) -> str:
    """Call each of several tools, one after the other."""
    return str([ctx.call(call["tool"], call["arguments"]).error_class for call in calls])


class Surfaces:
    """A model that makes the calls of the table, a composed tool, and an ear for verdicts."""

    profile, context = "full", 0

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.received: dict[str, str] = {}
        self.verdicts: dict[str, str] = {}

    @hookimpl
    def nanocoder_tools(self):
        return [several]

    @hookimpl
    def nanocoder_providers(self):
        return [ProviderSpec("table", lambda _model, _settings: self)]

    @hookimpl
    def nanocoder_event(self, event):
        if event.kind == "call.received":
            key = key_of(event.data["tool"], event.data["arguments"])
            self.received[event.call_id] = key
        elif event.kind == "call.decided":
            self.verdicts[self.received[event.call_id]] = event.data["decision"]

    def stream(self, request, _cancel):
        is_first = not any(message.role == "assistant" for message in request.messages)
        yield Finished("done", tuple(self.calls) if is_first else (), Usage())

    def models(self):
        return []

    def close(self):
        """Hold nothing."""


class Place:
    """A workspace with the person's rules, and sessions in it."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        self.home, self.cwd = home, cwd
        files = home / ".config/nanocoder"
        files.mkdir(parents=True)
        self.config = files / "config.toml"
        self.config.write_text(RULES)
        for name in ("README.md", "src/app.py", ".env", "private/a.txt", "old.txt"):
            (cwd / name).parent.mkdir(exist_ok=True)
            (cwd / name).write_text("TODO\n")
        (cwd / "link").symlink_to(".env")

    def session(self, surfaces: Surfaces, **options: Any) -> Any:
        flags = {"model": "table/x", "dialect": options.pop("dialect", None)}
        config = Config.load(self.cwd, flags=flags, environment=self.environment)
        plugins: Plugins = installed_plugins(config, self.environment)
        plugins.add(surfaces, "surfaces")
        options = {"persist": False, "environment": self.environment, **options}
        return open_session(self.cwd, config=config, plugins=plugins, **options)


@pytest.fixture
def place(tmp_path, warm):
    """Make a home with rules and a workspace with secrets."""
    home, cwd = tmp_path / "person", tmp_path / "project"
    home.mkdir()
    warm(home)
    cwd.mkdir()
    return Place(home, cwd)


def table_calls(prefix: str = "c") -> list[ToolCall]:
    return [ToolCall(f"{prefix}{n}", name, args) for n, (name, args, _) in enumerate(CALLS)]


def key_of(name: str, arguments: Mapping[str, Any]) -> str:
    # Some dialects add a time limit to a command.
    judged = {"command": arguments["command"]} if name == "bash" else dict(arguments)
    return json.dumps([name, judged], sort_keys=True)


def decisions(
    surfaces: Surfaces, rows: Iterable[tuple[str, dict[str, Any], str]] = CALLS
) -> list[str]:
    """Return the verdict on each row; calls of one turn may be judged in any order."""
    return [surfaces.verdicts.get(key_of(name, args), "none") for name, args, _ in rows]


def run_model(place: Place, surfaces: Surfaces, calls: list[ToolCall], **options: Any) -> None:
    surfaces.calls = calls
    with place.session(surfaces, **options) as session:
        list(session.run("go"))
        assert session.report.text == "done"


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
@pytest.mark.parametrize("typed", [False, True], ids=["call", "typed"])
def test_single_calls_and_those_that_a_person_types(place, typed):
    surfaces = Surfaces()
    answers = []
    with place.session(surfaces) as session:
        for name, arguments, _ in CALLS:
            surfaces.verdicts.clear()
            list(session.call(name, arguments, typed=typed))
            answers += surfaces.verdicts.values()
    assert answers == EXPECTED


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
def test_calls_of_a_model_and_through_wrapped_tools(place):
    plain, wrapped = Surfaces(), Surfaces()
    run_model(place, plain, table_calls())
    assert decisions(plain) == EXPECTED
    place.config.write_text(RULES + WRAPPED)
    run_model(place, wrapped, table_calls())
    assert decisions(wrapped) == EXPECTED


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
@pytest.mark.parametrize("tool_name", ["batch", "several"])
def test_steps_of_a_batch_and_of_a_composed_call(place, tool_name):
    got = []
    for start in range(0, len(CALLS), 10):
        part = CALLS[start : start + 10]
        surfaces = Surfaces()
        named = [{"tool": name, "arguments": arguments} for name, arguments, _ in part]
        renamed = [{"tool": name, "parameters": arguments} for name, arguments, _ in part]
        arguments = {"tool_calls": renamed} if tool_name == "batch" else {"calls": named}
        with place.session(surfaces) as session:
            list(session.call(tool_name, arguments))
        got += decisions(surfaces, part)
    assert got == EXPECTED


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
def test_calls_of_a_sub_agent(place):
    surfaces = Surfaces()
    surfaces.calls = table_calls("inner")
    with place.session(surfaces) as session:
        list(session.call("task", {"description": "all", "prompt": "go"}, typed=True))
    assert decisions(surfaces) == EXPECTED


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
@pytest.mark.rows(2)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_commands_in_every_dialect(place, dialect):
    surfaces = Surfaces()
    name = DIALECTS[dialect]
    calls = [ToolCall(f"c{n}", name, args) for n, (args, _) in enumerate(COMMANDS)]
    run_model(place, surfaces, calls, dialect=dialect)
    rows = [("bash", args, verdict) for args, verdict in COMMANDS]
    assert decisions(surfaces, rows) == [verdict for _, verdict in COMMANDS]


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
def test_commands_that_a_sandbox_holds_on_every_way(place):
    place.config.write_text(RULES.replace('sandbox = "none"', ""))
    rows = [("bash", args, verdict) for args, verdict in COMMANDS]
    held = ["deny" if "push" in row[1]["command"] else "allow" for row in rows]
    held[COMMANDS.index(({"command": "pytest --deploy"}, "ask"))] = "ask"
    calls = [ToolCall(f"c{n}", name, args) for n, (name, args, _) in enumerate(rows)]
    steps = [{"tool": name, "arguments": args} for name, args, _ in rows]
    for way in ("call", "model", "sub-agent", "several"):
        surfaces = Surfaces()
        if way == "model":
            run_model(place, surfaces, calls)
        with place.session(surfaces) as session:
            surfaces.calls = calls
            match way:
                case "call":
                    for name, args, _ in rows:
                        list(session.call(name, args))
                case "sub-agent":
                    task = {"description": "all", "prompt": "go"}
                    list(session.call("task", task, typed=True))
                case "several":
                    list(session.call("several", {"calls": steps}))
        assert decisions(surfaces, rows) == held, way


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
def test_headless_runs_and_the_command_that_explains(nanocoder, place):
    script = script_of(place)
    done = nanocoder("run", "--model", script, "--output", "jsonl", "go", **at(place))
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["decision"] for e in events if e["type"] == "call.decided"] == EXPECTED
    assert done.returncode == 3
    file = place.home / "calls.toml"
    file.write_text("".join(map(expectation, CALLS)))
    tested = nanocoder("policy", "test", str(file), **at(place))
    assert tested.stdout == f"{len(CALLS)} of {len(CALLS)} calls are judged as expected\n"
    for name, arguments, verdict in CALLS[::9]:
        words = ("policy", "explain", name, json.dumps(arguments), "--output", "json")
        assert json.loads(nanocoder(*words, **at(place)).stdout)["decision"] == verdict


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
def test_single_calls_from_the_shell(nanocoder, place):
    codes = {"allow": 0, "ask": 3, "deny": 6}
    for name, arguments, verdict in CALLS[::4]:
        done = nanocoder("call", name, json.dumps(arguments), **at(place))
        assert done.returncode == codes[verdict], (name, arguments, done.stderr)


@pytest.mark.contract("NT-88")
@pytest.mark.contract("W9")
def test_a_person_at_a_terminal_is_asked_exactly_about_what_asks(nanocoder, place):
    script = script_of(place)
    run_on_a_terminal(["run", "--model", script, "go"], nanocoder, place)
    listed = json.loads(nanocoder("sessions", "list", "--output", "json", **at(place)).stdout)
    replayed = nanocoder("policy", "replay", listed[0]["id"], **at(place))
    # What was decided then is read from the journal: asked, denied, or simply run.
    assert replayed.stdout == f"{len(CALLS)} of {len(CALLS)} calls would be judged the same now\n"


MCP_RULES = """[plugins.policy-rules]
deny = ["mcp_shop_buy"]
allow = ["mcp_shop_look"]
"""


@pytest.mark.contract("W9")
@pytest.mark.contract("I24")
@pytest.mark.contract("I25")
def test_one_rule_stops_the_call_of_an_mcp_server_on_every_way(nanocoder, place):
    program = Path(__file__).with_name("shop_server.py")
    (place.cwd / program.name).write_text(program.read_text())
    # A server that is named by a path here starts here.
    words = ("mcp", "add", "shop", "--yes", "--", sys.executable, "-S", program.name)
    place.config.write_text(MCP_RULES)
    assert nanocoder(*words, **at(place)).returncode == 0
    calls = [{"name": name, "arguments": {}} for name in ("mcp_shop_buy", "mcp_shop_look")]
    inner = place.home / "inner.json"
    inner.write_text(json.dumps({"turns": [{"text": "", "calls": calls}, {"text": "done"}]}))
    task = {"name": "task", "arguments": {"description": "shop", "prompt": "go"}}
    outer = place.home / "outer.json"
    turns = [{"text": "", "calls": [task]}, {"text": "", "calls": calls}, {"text": "done"}]
    outer.write_text(json.dumps({"turns": turns}))
    for script in (inner, outer):  # headless, and a sub-agent that plays the same script
        run = ("run", "--mode", "auto", "--model", f"scripted/{script}", "--output", "jsonl", "go")
        lines = nanocoder(*run, **at(place)).stdout.splitlines()
        events = [json.loads(line) for line in lines]
        assert "deny" in {e["decision"] for e in events if e["type"] == "call.decided"}
    words_of_run = ["run", "--mode", "auto", "--model", f"scripted/{inner}", "go"]
    run_on_a_terminal(words_of_run, nanocoder, place)
    assert nanocoder("call", "mcp_shop_buy", "{}", **at(place)).returncode == 6
    served = ("mcp_shop_buy,mcp_shop_look",)
    answers = anyio.run(call_served, served, nanocoder.environment, place)
    assert answers == [True, False]
    # Headless, a sub-agent and its parent, at a terminal, and the server.
    assert (place.cwd / "looked").read_text() == "yes" * 5
    assert not (place.cwd / "bought").exists()


async def call_served(tools: Any, environment: Mapping[str, str], place: Place) -> list[bool]:
    start = StdioServerParameters(
        command=COMMAND,
        args=["mcp", "serve", "--tools", *tools],
        env={**environment, "HOME": str(place.home)},
        cwd=place.cwd,
    )
    async with Client(start) as client:
        names = ("mcp_shop_buy", "mcp_shop_look")
        return [(await client.call_tool(name, {})).is_error for name in names]


def script_of(place: Place) -> str:
    calls = [{"name": name, "arguments": arguments} for name, arguments, _ in CALLS]
    path = place.home / "script.json"
    path.write_text(json.dumps({"turns": [{"text": "", "calls": calls}, {"text": "done"}]}))
    return f"scripted/{path}"


def at(place: Place) -> dict[str, Any]:
    return {"cwd": place.cwd, "env": {"HOME": str(place.home)}}


def expectation(row: tuple[str, Mapping[str, Any], str]) -> str:
    name, arguments, verdict = row
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in arguments.items())
    return f'[[calls]]\ntool = "{name}"\narguments = {{ {pairs} }}\nverdict = "{verdict}"\n'


def run_on_a_terminal(words: list[str], nanocoder: Any, place: Place) -> None:
    """Run nanocoder on a terminal of its own and answer no to every question."""
    leader, follower = pty.openpty()
    environment = {**nanocoder.environment, "HOME": str(place.home), "TERM": "xterm"}
    command = [COMMAND, *words]
    with subprocess.Popen(
        command, cwd=place.cwd, env=environment, stdin=follower, stdout=follower, stderr=follower
    ) as process:
        os.close(follower)
        deadline = time.monotonic() + 200
        while process.poll() is None:
            assert time.monotonic() < deadline
            if select.select([leader], [], [], 0.3)[0]:
                with suppress(OSError):
                    os.read(leader, 65_536)
            else:  # it is silent, so it waits for an answer
                with suppress(OSError):
                    os.write(leader, b"n\r")
    os.close(leader)
