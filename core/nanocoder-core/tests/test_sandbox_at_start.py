"""What a session says of its sandbox at its start, and when it does not start without one."""

import os
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from command_line import plugin_in
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    ConfigError,
    Effect,
    Resource,
    Sandbox,
    ToolContext,
    ToolError,
    choose_sandbox,
    hookimpl,
    tool,
)
from nanocoder_testing import Tools, opened
from nanocoder_testing.playing import called, gathered


@tool(risk="dangerous", effects={Effect.EXECUTE})
def make(ctx: ToolContext) -> str:
    """Run make."""
    return " ".join(ctx.wrap(["make"]))


@tool(risk="safe", effects={Effect.READ})
def look() -> str:
    """Look."""
    return "looked"


class Box:
    """A plugin with a sandbox of its name."""

    def __init__(self, name: str, rank: int = 0, problem: str = "", system: str = "") -> None:
        self.name, self.rank, self.problem, self.system = name, rank, problem, system
        self.trials = 0

    def in_force(self, _settings: Any) -> str:
        self.trials += 1
        if self.problem:
            raise ToolError(self.problem, error_class="sandbox_unavailable")
        return self.name

    def changes(self) -> Sequence[str]:
        return ()

    def wrap(self, argv: Sequence[str], _ports: Sequence[int], _access: str) -> list[str]:
        return [self.name, *argv]

    @hookimpl
    def nanocoder_sandboxes(self):
        return [Sandbox(self.name, self.in_force, rank=self.rank, system=self.system)]

    @hookimpl
    def nanocoder_resources(self):
        return [Resource(self.name, lambda _session, _settings: self)]


@contextmanager
def session_of(home, *boxes, tools=(make,), **variables):
    """Open a session in *home* with *boxes*; *variables* are settings in capitals."""
    environment = {f"NANOCODER_{name}": value for name, value in variables.items()}
    plugins = {"tools": Tools(*tools), **{box.name: box for box in boxes}}
    (home / "work").mkdir(exist_ok=True)
    (home / ".cache/nanocoder").mkdir(parents=True, exist_ok=True)
    environment["HOME"] = str(home)
    options = {"plugins": plugins, "approve": approve, "environment": environment}
    with opened(home / "work", **options) as (session, _):
        yield session


def approve(request: ApprovalRequest) -> ApprovalAnswer:
    return ApprovalAnswer(request.id, request.digest, approved=True)


def notices(session) -> list[str]:
    return [event.data["text"] for event in session.run("go") if event.kind == "notice"]


# A named sandbox


@pytest.mark.contract("E5")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("box", "NANOCODER_SANDBOX: no kernel"),
        ("crate", "NANOCODER_SANDBOX: there is no sandbox 'crate'. Installed: box"),
        ("bux", "NANOCODER_SANDBOX: there is no sandbox 'bux'; did you mean 'box'?"),
    ],
)
def test_no_session_starts_with_a_named_sandbox_that_does_not_work(tmp_path, name, problem):
    box = Box("box", problem="no kernel")
    with pytest.raises(ConfigError) as error, session_of(tmp_path, box, SANDBOX=name):
        pass
    assert str(error.value).startswith(problem)
    assert error.value.exit_code == 2


def test_policies_learn_whether_none_is_wanted_or_none_works(tmp_path):
    box = Box("box", 10, problem="no kernel")
    with session_of(tmp_path, box) as session:
        with pytest.raises(ToolError, match="no sandbox works here"):
            session.info.find_sandbox()
        assert session.info.sandbox == ""
    with session_of(tmp_path, box, SANDBOX="none") as session:
        assert session.info.find_sandbox() == ""


def test_a_session_that_starts_no_processes_needs_no_sandbox(tmp_path):
    box = Box("box", problem="no kernel")
    demanding = {"SANDBOX": "box", "REQUIRE_SANDBOX": "true"}
    with session_of(tmp_path, box, tools=[look], **demanding) as session:
        assert called(session, "look", {})[0].output == "looked"
        assert notices(session) == []
    assert box.trials == 0


# A required one


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("auto", "no kernel; no program"),
        ("none", "sandbox is 'none'"),
        ("box", "no kernel"),
        ("crate", "there is no sandbox 'crate'. Installed: box, other"),
    ],
)
def test_no_session_starts_without_the_sandbox_that_is_required(tmp_path, name, why):
    boxes = Box("box", 10, "no kernel"), Box("other", 20, "no program")
    settings = {"SANDBOX": name, "REQUIRE_SANDBOX": "true"}
    with pytest.raises(ConfigError) as error, session_of(tmp_path, *boxes, **settings):
        pass
    before = "NANOCODER_REQUIRE_SANDBOX: a sandbox is required, and none is in force: "
    assert str(error.value) == before + why


def test_a_required_sandbox_that_breaks_later_runs_nothing(tmp_path):
    box = Box("box", 10)
    with session_of(tmp_path, box, REQUIRE_SANDBOX="true") as session:
        assert called(session, "make", {})[0].output == "box make"
        box.problem = "no kernel"
        result, _ = called(session, "make", {})
    assert result.error_class == "sandbox_unavailable"
    assert "require_sandbox demands one" in result.output


def test_a_project_can_require_a_sandbox_and_not_give_one_up(tmp_path):
    (tmp_path / "work/.nanocoder").mkdir(parents=True)
    file = tmp_path / "work/.nanocoder/config.toml"
    box = Box("box", 10, "no kernel")
    file.write_text("require_sandbox = true\n")
    with pytest.raises(ConfigError, match="a sandbox is required"), session_of(tmp_path, box):
        pass
    file.write_text("require_sandbox = false\n")
    settings = {"REQUIRE_SANDBOX": "true"}
    with pytest.raises(ConfigError, match="is required"), session_of(tmp_path, box, **settings):
        pass


# The best that works


def test_auto_is_the_first_by_rank_that_works_on_this_system(tmp_path):
    foreign = Box("foreign", 5, system="plan9")
    boxes = foreign, Box("best", 10, "no kernel"), Box("next", 20), Box("last", 30), Box("named")
    with session_of(tmp_path, *boxes) as session:
        assert called(session, "make", {})[0].output == "next make"
        assert notices(session) == []
    found, reasons = choose_sandbox(gathered({box.name: box for box in boxes}), "auto")
    assert (found[2], reasons, foreign.trials) == ("next", ["no kernel"], 0)


def test_a_session_without_a_sandbox_says_so_once(tmp_path):
    with session_of(tmp_path, Box("box", 10, "no kernel; install one")) as session:
        assert notices(session) == ["commands run without a sandbox: no kernel; install one"]
        assert notices(session) == []
        assert called(session, "make", {})[0].output == "make"
    with session_of(tmp_path) as session:
        [notice] = notices(session)
    assert "nanocoder plugins install set-default adds them" in notice
    with session_of(tmp_path, SANDBOX="none") as session:
        assert notices(session) == []  # a person chose it


# The trial, which is not repeated at each start


def test_a_sandbox_that_worked_is_not_tried_at_the_next_start(tmp_path):
    box = Box("box", 10)
    for _ in range(3):
        with session_of(tmp_path, box):
            pass
    assert box.trials == 1


def test_a_sandbox_that_did_not_work_is_tried_at_each_start(tmp_path):
    box = Box("box", 10, "no kernel")
    for problems in (1, 1, 0):
        box.problem = "no kernel" * problems
        with session_of(tmp_path, box) as session:
            assert len(notices(session)) == problems


@pytest.mark.parametrize("change", ["nothing", "program", "path", "plugin"])
def test_a_sandbox_is_tried_again_when_what_it_depends_on_changes(tmp_path, monkeypatch, change):
    programs, box = tmp_path / "programs", Box("box", 10)
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    with session_of(tmp_path, box):
        pass
    boxes = [box]
    if change == "program":
        (programs / "box").touch()
    elif change == "path":
        monkeypatch.setenv("PATH", os.defpath)
    elif change == "plugin":
        boxes.append(Box("other", 20))
    with session_of(tmp_path, *boxes):
        pass
    assert box.trials == (1 if change == "nothing" else 2)


def test_a_sandbox_is_tried_again_when_its_settings_change(nanocoder, tmp_path):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    config = folder / "config.toml"
    variables = plugin_in(tmp_path / "site", "sandbox-picky", PICKY)
    nanocoder("plugins", "list", env=variables)
    run = ("run", "--model", nanocoder.script({"text": "Done."}), "go")
    config.write_text('sandbox = "picky"\n')
    assert nanocoder(*run, env=variables).returncode == 0
    config.write_text('sandbox = "picky"\n[plugins.sandbox-picky]\nhosts = ["a"]\n')
    done = nanocoder(*run, env=variables)
    assert done.returncode == 2
    assert done.stderr == f"nanocoder: {config}:1: it knows no hosts\n"


PICKY = """
from attrs import frozen
from nanocoder import Sandbox, ToolError, hookimpl


@frozen
class Settings:
    \"\"\"The table.\"\"\"

    hosts: tuple[str, ...] = ()


def in_force(settings):
    if settings.hosts:
        raise ToolError("it knows no hosts", error_class="sandbox_unavailable")
    return "picky"


@hookimpl
def nanocoder_settings():
    return Settings


@hookimpl
def nanocoder_sandboxes():
    return [Sandbox("picky", in_force)]
"""


# As a process

BROKEN = """
from nanocoder import Sandbox, ToolError, hookimpl


def in_force(settings):
    raise ToolError("no such kernel", error_class="sandbox_unavailable")


@hookimpl
def nanocoder_sandboxes():
    return [Sandbox("broken", in_force, rank=1)]
"""


@pytest.fixture
def without_sandbox(nanocoder, tmp_path):
    """Return the variables of a machine on which one sandbox is installed, which is broken."""
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    names = "sandbox-bwrap", "sandbox-landlock", "sandbox-seatbelt"
    listed = ", ".join(f'"{name}"' for name in names)
    (folder / "config.toml").write_text(f"[plugins]\ndisable = [{listed}]\n")
    return plugin_in(tmp_path / "site", "sandbox-broken", BROKEN)


def test_a_run_says_on_standard_error_that_there_is_no_sandbox(nanocoder, without_sandbox):
    model = nanocoder.script({"text": "Done."})
    nanocoder("plugins", "list", env=without_sandbox)
    done = nanocoder("run", "--model", model, "go", env=without_sandbox)
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert done.stderr == "nanocoder: commands run without a sandbox: no such kernel\n"
    for words in (["--version"], ["tools"], ["config"], ["plugins", "list"]):
        assert "sandbox:" not in nanocoder(*words, env=without_sandbox).stderr


@pytest.mark.parametrize("words", [["run", "go"], ["call", "bash", '{"command": "id"}']])
def test_2_when_no_sandbox_works_and_one_is_required(nanocoder, without_sandbox, words):
    variables = {**without_sandbox, "NANOCODER_REQUIRE_SANDBOX": "true"}
    model = ["--model", nanocoder.script({"text": "Done."})] if words[0] == "run" else []
    done = nanocoder(*words, *model, env=variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a sandbox is required, and none is in force: no such kernel" in done.stderr
