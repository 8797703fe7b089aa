"""The sandbox of a session's first command is made while the model gives its first answer."""

import os
import subprocess
import sys
import tempfile
import time

import nanocoder_sandbox_bwrap
import pytest
from nanocoder import ApprovalAnswer, Effect, ToolContext, hookimpl, tool
from nanocoder_sandbox_bwrap import ahead
from nanocoder_testing import Scripted, opened
from running_processes import processes_with
from standby_box import LOOK_S, MOST_S, MOST_TRIES, is_ahead

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E1")]
READY = "nanocoder-sandbox-*/*/*.rules/*.ready"


@tool(risk="safe", effects={Effect.EXECUTE})
def say(ctx: ToolContext, word: str) -> str:
    """Say a word from inside."""
    argv = ctx.wrap(["/bin/echo", word])
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return f"{is_ahead(argv)} {done.stdout}"


def agree(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


class Tools:
    @hookimpl
    def nanocoder_tools(self):
        return [say]


class Thinking(Scripted):
    """A model that answers when *is_over* says so."""

    def __init__(self, turns, is_over):
        super().__init__(turns)
        self._is_over = is_over

    def stream(self, request, cancel):
        until = time.monotonic() + MOST_S
        while not self._is_over():
            assert time.monotonic() < until
            time.sleep(LOOK_S)
        yield from super().stream(request, cancel)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the folder for temporary files of this test, in which sandboxes have their own."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def play(places, turns, is_over=lambda: True, sandbox="bwrap", **options):
    """Run a prompt, and return what the tools said."""
    model = Thinking(turns, is_over)
    options["environment"] = {"HOME": "/nonexistent", "NANOCODER_SANDBOX": sandbox}
    plugins = {"sandbox-bwrap": nanocoder_sandbox_bwrap, "tools": Tools()}
    workspace = places.parent / "workspace"
    with opened(workspace, plugins=plugins, model=model, **options) as (session, _):
        events = list(session.run("go"))
    return [event.data["output"] for event in events if event.kind == "call.returned"]


def left(places):
    return [*places.glob("nanocoder-sandbox-*/*/*")], processes_with(str(places))


@pytest.mark.parametrize("name", ["bwrap", "auto"])
def test_the_first_command_finds_a_sandbox_that_is_ready(places, name):
    turns = [[("say", {"word": "hi"})], "Done."]
    # Programs of this machine may open sockets meanwhile, and the sandbox is then for another list.
    for _ in range(MOST_TRIES):
        said = play(places, turns, lambda: [*places.glob(READY)], name, approve=agree)
        if said == ["True hi\n"]:
            break
    assert said == ["True hi\n"]
    assert left(places) == ([], [])


@pytest.mark.parametrize("options", [{"sandbox": "none"}, {"mode": "plan"}, {"dry_run": True}])
def test_none_is_made_where_no_command_will_run_in_it(places, monkeypatch, options):
    monkeypatch.setattr(ahead, "IDLE_S", 0)
    end = time.monotonic() + 0.5
    assert play(places, ["Hello."], lambda: time.monotonic() > end, **options) == []
    assert os.listdir(places) == []


def test_a_model_that_answers_at_once_has_none_made(places, monkeypatch):
    monkeypatch.setattr(ahead, "IDLE_S", MOST_S)
    started = time.monotonic()
    assert play(places, ["Hello."]) == []
    assert time.monotonic() < started + MOST_S / 2
    assert os.listdir(places) == []


@pytest.mark.parametrize("delay_s", [0, 0.01, 0.03, 0.06, 0.1, 0.2])
def test_a_session_that_ends_while_one_is_made_leaves_nothing(places, monkeypatch, delay_s):
    monkeypatch.setattr(ahead, "IDLE_S", 0)
    end = time.monotonic() + delay_s
    play(places, ["Hello."], lambda: time.monotonic() > end)
    until = time.monotonic() + MOST_S
    while left(places) != ([], []):
        assert time.monotonic() < until, left(places)
        time.sleep(LOOK_S)


def test_sessions_that_are_not_kept_have_one_each(places):
    workspace, plugins = places.parent / "workspace", {"sandbox-bwrap": nanocoder_sandbox_bwrap}
    models = [Scripted(["Hello."]), Scripted(["Hello."])]
    with opened(workspace, plugins=plugins, model=models[0]) as (first, _):
        with opened(workspace, plugins=plugins, model=models[1]) as (second, _):
            assert first.id == second.id
            for session in (first, second):
                list(session.run("go"))
            assert len(nanocoder_sandbox_bwrap._ahead) == 2
        assert list(nanocoder_sandbox_bwrap._ahead) == [first.info.readable]
    assert not nanocoder_sandbox_bwrap._ahead


def test_a_run_without_a_command_imports_nothing_of_sandboxes(nanocoder):
    command = f"{sys.executable} -X importtime -m nanocoder"
    model = nanocoder.script({"text": "Hello."})
    done = nanocoder("run", "--model", model, "Say hello.", command=command)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "nanocoder_sandbox_bwrap.ahead" in modules
    assert not [name for name in modules if name.startswith("nanocoder_kit_sandbox")]
