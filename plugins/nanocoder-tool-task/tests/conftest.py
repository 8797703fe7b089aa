"""A home without configuration and a model for sub-agents that costs nothing."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import nanocoder_tool_task
import pytest
from nanocoder import (
    ApprovalAnswer,
    Finished,
    ProviderError,
    ProviderSpec,
    TextDelta,
    ToolCall,
    ToolResult,
    Usage,
    hookimpl,
    tool,
)
from nanocoder_testing import opened
from nanocoder_testing.playing import called
from nanocoder_tool_task import Settings


class Model:
    """Plays the turns of a file; which one follows from how many were answered already."""

    profile = "full"
    context = 0

    def __init__(self, path):
        self._turns = json.loads(Path(path).read_text(encoding="utf-8"))["turns"]

    def stream(self, request, cancel):
        number = sum(message.role == "assistant" for message in request.messages)
        turn = self._turns[number]
        if cancel.wait(turn.get("delay_s", 0)):
            cancel.check()
        if "error" in turn:
            raise ProviderError(turn["error"])
        requested = enumerate(turn.get("calls", ()))
        calls = tuple(
            ToolCall(f"c{number}-{at}", call["name"], call["arguments"]) for at, call in requested
        )
        yield TextDelta(turn.get("text", ""))
        yield Finished(turn.get("text", ""), calls, Usage(**turn.get("usage", {})))

    def models(self):
        return []

    def close(self):
        """Hold nothing, close nothing."""


@tool(risk="safe", effects={"read"})
def read_file(ctx, path: str) -> str:
    """Read a file."""
    return ctx.workspace.read_text(path)


@tool(risk="medium", effects={"write"})
def write_file(ctx, path: str, content: str) -> ToolResult:
    """Write a file."""
    ctx.workspace.write_text(path, content)
    return ToolResult("written", metadata={"path": path})


@tool(risk="dangerous", effects={"write"})
def apply_patch(ctx, patch: str) -> ToolResult:
    """Apply a patch as git does, all of it or nothing."""
    completed = subprocess.run(
        ["git", "apply", "--whitespace=nowarn"],
        cwd=ctx.working_directory,
        input=patch.encode(),
        capture_output=True,
        check=False,
    )
    failed = completed.returncode != 0
    output = completed.stderr.decode()
    return ToolResult(output, is_error=failed, error_class="text_not_found" if failed else "")


MODELS = SimpleNamespace(
    nanocoder_providers=hookimpl(lambda: [ProviderSpec("play", lambda m, _: Model(m))])
)
FILES = SimpleNamespace(nanocoder_tools=hookimpl(lambda: [read_file, write_file, apply_patch]))
TOOLS = {"tool-task": nanocoder_tool_task, "files": FILES, "models": MODELS}


def yes(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


@pytest.fixture(autouse=True)
def script(tmp_path_factory, monkeypatch):
    """Return what writes the turns of the sub-agents and names the model that plays them."""
    home = tmp_path_factory.mktemp("home")

    def write(*turns, name="agent", provider="play"):
        path = home / f"{name}.json"
        path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
        return f"{provider}/{path}"

    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NANOCODER_MODEL", write({"text": "Hello."}, provider="scripted"))
    write.home = home
    return write


@pytest.fixture
def tools():
    """Return the plugins of every session: ours, three tools for files, and the model."""
    return dict(TOOLS)


@pytest.fixture
def run(tmp_path, script):
    """Let a sub-agent play turns: run({"text": …}, arguments={…}) -> its result and the events.

    `run.inside(kind)` returns what happened in the sub-agents.
    """
    (tmp_path / "hello.txt").write_text("one line\n")

    class Recorder:
        """Keeps the events of all sessions: (the profile's name, the event)."""

        def __init__(self):
            self.events = []

        @hookimpl
        def nanocoder_event(self, event, session):
            self.events.append((session.agent, event))

    def run_task(*turns, plugins=(), limits=(), cancel=None, arguments=(), **options):
        settings = Settings(**{"model": script(*turns), **dict(limits)})
        run_task.recorder = Recorder()
        together = {**TOOLS, "recorder": run_task.recorder, **dict(plugins)}
        call_arguments = {"description": "try it", "prompt": "go", **dict(arguments)}
        options = {"settings": {"tool-task": settings}, "approve": yes, **options}
        with opened(tmp_path, plugins=together, **options) as (session, _):
            return called(session, "task", call_arguments, cancel=cancel)

    run_task.inside = lambda kind: [
        event for agent, event in run_task.recorder.events if agent and event.kind == kind
    ]
    return run_task


@pytest.fixture
def repository(tmp_path):
    """Return a git repository with one commit, one change that is not committed, and one secret."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "hello.txt").write_text("one line\n")
    (tmp_path / "code.py").write_text("a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "code.py").write_text("a = 1\nb = 2\nc = 3\nd = 4\ne = 50\n")
    (tmp_path / "new.txt").write_text("not committed\n")
    (tmp_path / "noise.log").write_text("ignored\n")
    return tmp_path


@pytest.fixture(name="git")
def run_git():
    """Return what runs git for a test."""
    return git


def git(folder, *words):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return completed.stdout
