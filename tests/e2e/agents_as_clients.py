"""Let Claude Code and Codex use `nanocoder mcp serve`, with a scripted model on this machine.

    npm install --prefix DIR @anthropic-ai/claude-code @openai/codex
    python tests/e2e/agents_as_clients.py DIR/node_modules/.bin

Each reads a file through nanocoder's tool, and then one that a rule denies. The program prints what
came back, and fails where it is not what nanocoder returns.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from model_for_clients import Model, served

COMMAND = str(Path(sys.executable).with_name("nanocoder"))
WORDS = ["mcp", "serve", "--tools", "read_file,grep"]
RULES = '[plugins.policy-rules]\ndeny = ["read_file(private/**)"]\n'
CALLS = (("read_file", {"path": "a.txt"}), ("read_file", {"path": "private/a.txt"}))
TIMEOUT_S = 180


def claude(program: str, port: int, home: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the variables for Claude Code."""
    server = {"command": COMMAND, "args": WORDS, "env": {"HOME": str(home)}}
    config = json.dumps({"mcpServers": {"nanocoder": server}})
    options = ["--strict-mcp-config", "--allowedTools", "mcp__nanocoder__read_file"]
    variables = {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    return [program, "-p", "go", "--mcp-config", config, *options], variables


def codex(program: str, port: int, home: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the variables for Codex."""
    folder = home / "codex"
    folder.mkdir()
    words = json.dumps(WORDS)
    (folder / "config.toml").write_text(
        f"""model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[mcp_servers.nanocoder]
command = {json.dumps(COMMAND)}
args = {words}
env = {{ HOME = {json.dumps(str(home))} }}
startup_timeout_sec = 60
required = true
"""
    )
    # Its own sandbox and questions are not what is looked at.
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [program, "exec", *options, "go"], {"CODEX_HOME": str(folder), "SCRIPTED_KEY": "none"}


AGENTS = {"claude": claude, "codex": codex}


def problem_of(name: str, programs: Path) -> str:
    """Run one agent and print what its model was told; returns what is wrong, "" for nothing."""
    model = Model(CALLS)
    with tempfile.TemporaryDirectory() as folder, served(model) as port:
        home, work = Path(folder, "home"), Path(folder, "work")
        (home / ".config/nanocoder").mkdir(parents=True)
        (home / ".config/nanocoder/config.toml").write_text(RULES)
        (work / "private").mkdir(parents=True)
        for file in ("a.txt", "private/a.txt"):
            (work / file).write_text("hello\n")
        command, variables = AGENTS[name](str(programs / name), port, home)
        done = subprocess.run(
            command,
            cwd=work,
            env={"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    for result in model.results:
        print(f"{name}: {result[:300]}")
    expected = [("hello", "denied"), ("denied", "hello")]
    if len(model.results) != len(expected):
        return (
            f"{name} ended with {done.returncode} after {len(model.results)} calls\n{done.stderr}"
        )
    fits = [
        shown in result and hidden not in result
        for (shown, hidden), result in zip(expected, model.results, strict=True)
    ]
    return "" if all(fits) and "done" in done.stdout else f"{name} was told something else"


def main() -> None:
    """Run the agents that are there."""
    programs = Path(sys.argv[1]).resolve()
    names = [name for name in AGENTS if (programs / name).exists()]
    problems = list(filter(None, (problem_of(name, programs) for name in names)))
    if not names:
        problems = [f"{programs} has none of: {', '.join(AGENTS)}"]
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
