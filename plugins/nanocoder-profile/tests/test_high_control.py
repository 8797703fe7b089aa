"""What high control requires: a policy that names the tool, a person, a sandbox."""

import nanocoder_profile_high_control
import pytest
from nanocoder import (
    ApprovalAnswer,
    Decision,
    Effect,
    Resource,
    Sandbox,
    ToolContext,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_profile_high_control import Settings
from nanocoder_testing import opened
from nanocoder_testing.playing import called


@tool(risk="safe", effects={Effect.READ})
def look(path: str) -> str:
    """Look at a file."""
    return path


@tool(risk="safe", effects={Effect.WRITE})
def note(text: str) -> str:
    """Note something."""
    return text


@tool(risk="safe", effects={Effect.EXECUTE})
def shell(ctx: ToolContext, command: str) -> str:
    """Run a command."""
    return " ".join(ctx.wrap([command]))


class Lenient:
    """Tools, a sandbox, and a policy that allows everything."""

    @hookimpl
    def nanocoder_tools(self):
        return [look, note, shell]

    @hookimpl
    def nanocoder_sandboxes(self):
        return [Sandbox("box", in_force=lambda _settings: "a box")]

    @hookimpl
    def nanocoder_resources(self):
        return [Resource("box", lambda _session, _settings: self)]

    def changes(self):
        return ()

    def wrap(self, argv, _ports, _access):
        return ["boxed", *argv]

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(Decision.ALLOW, "anything goes")


@pytest.fixture
def call(tmp_path):
    """Make a call in mode auto under given settings; *people* approve it in turn."""

    def run(name, arguments, settings, people=(), sandbox="none"):
        names = iter(people)

        def approve(request):
            actor = next(names)
            return ApprovalAnswer(request.id, request.digest, approved=True, actor=actor)

        plugins = {"lenient": Lenient(), "profile": nanocoder_profile_high_control}
        environment = {"HOME": "/nonexistent", "NANOCODER_SANDBOX": sandbox}
        options = {"settings": {"profile": settings}, "environment": environment, "mode": "ask"}
        with opened(tmp_path, plugins=plugins, approve=approve, **options) as (session, _):
            return called(session, name, arguments)[0]

    return run


@pytest.mark.contract("NT-57")
def test_without_a_policy_file_nothing_but_reading_runs(call):
    assert call("look", {"path": "x"}, Settings(active=True)).output == "x"
    for name, argument in (("note", "text"), ("shell", "command")):
        result = call(name, {argument: "x"}, Settings(active=True), ["ann"])
        assert result.error_class == "denied"
        assert f"no policy names the tool {name!r}" in result.output


@pytest.mark.contract("NT-57")
@pytest.mark.contract("W5")
def test_what_the_policy_names_is_approved_by_as_many_as_it_says(call):
    one, two = (
        Settings(active=True, tools=("note",)),
        Settings(active=True, tools=("note",), persons=2),
    )
    assert call("note", {"text": "x"}, one, ["ann"]).output == "x"
    assert call("note", {"text": "x"}, two, ["ann", "ben"]).output == "x"
    assert "2 different people" in call("note", {"text": "x"}, two, ["ann", "ann"]).output


@pytest.mark.contract("NT-57")
def test_commands_run_in_a_sandbox_or_not_at_all(call):
    settings = Settings(active=True, tools=("shell",))
    assert call("shell", {"command": "ls"}, settings, ["ann"], "box").output == "boxed ls"
    result = call("shell", {"command": "ls"}, settings, ["ann"])
    assert result.error_class == "sandbox_unavailable"


@pytest.mark.contract("NT-57")
def test_nobody_there_means_no_change_in_mode_auto(tmp_path):
    plugins = {"lenient": Lenient(), "profile": nanocoder_profile_high_control}
    settings = {"profile": Settings(active=True, tools=("note",))}
    with opened(tmp_path, plugins=plugins, settings=settings, mode="auto") as (session, _):
        result, _ = called(session, "note", {"text": "x"})
    assert result.error_class == "denied"
    assert "no person is here to give it" in result.output
