"""A tool that can only fail here is not offered; the rest of the prefix stays as it is."""

import pytest
from attrs import frozen
from nanocoder import Effect, Mode, Resource, hookimpl, tool
from nanocoder_testing import Tools, opened, play
from nanocoder_testing.playing import agree


def needing(name, *needs):
    def handler() -> str:
        return f"{name} ran"

    fields = {"description": f"Do what {name} does.", "effects": {Effect.READ}, "needs": needs}
    return tool(name=name, risk="safe", **fields)(handler)


@frozen
class Settings:
    address: str = ""


class Plugin:
    """A tool without needs, and one for each kind of need."""

    def __init__(self, *, has_files=False):
        self.has_files = has_files

    @hookimpl
    def nanocoder_tools(self):
        kinds = {"question": "person", "lookup": "address", "recipe": "files"}
        return [needing("always"), *(needing(name, need) for name, need in kinds.items())]

    @hookimpl
    def nanocoder_settings(self):
        return Settings

    @hookimpl
    def nanocoder_resources(self):
        return [Resource("files", lambda _session, _settings: self.has_files)]


def offered(tmp_path, plugin=None, **options):
    plugins = {"needy": plugin or Plugin()}
    (request,) = play(tmp_path, ["Done."], plugins=plugins, **options).model.requests
    return [definition.name for definition in request.tools]


def test_a_tool_whose_needs_are_not_met_is_not_offered(tmp_path):
    assert offered(tmp_path) == ["always"]


def test_a_tool_whose_needs_are_met_is_offered(tmp_path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("home") / "nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[plugins.needy]\naddress = "here"\n')
    environment = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": str(folder.parent)}
    settings = {"needy": Settings("here")}
    options = {"ask": lambda _: "yes", "settings": settings, "environment": environment}
    names = ["always", "lookup", "question", "recipe"]
    assert offered(tmp_path, Plugin(has_files=True), **options) == names
    assert "question" in offered(tmp_path, interactive=True)


def test_a_tool_that_is_not_offered_says_itself_what_is_missing(tmp_path):
    played = play(tmp_path, [[("lookup", {})], "Done."], plugins={"needy": Plugin()})
    assert played.results[0].output == "lookup ran"


@pytest.mark.parametrize("background", [True, False])
def test_a_sub_agent_in_the_background_has_nobody_to_ask(tmp_path, background):
    @tool(composed_of=("*",), effects={Effect.READ}, risk="safe")
    def lead(ctx) -> str:
        """Open a session and ask its model."""
        with ctx.child(background=background) as child:
            list(child.run("go"))
        return "led"

    plugins = {"needy": Plugin(), "leading": Tools(lead)}
    turns = [[("lead", {})], "Child.", "Done."]
    options = {"ask": lambda _: "yes", "approve": agree}
    requests = play(tmp_path, turns, plugins=plugins, **options).model.requests
    names = [definition.name for definition in requests[1].tools]
    assert ("question" in names) is not background


def test_a_change_of_the_mode_changes_the_tools_of_the_next_request_and_nothing_else_does(tmp_path):
    writing = tool(name="write", description="Write it.", effects={Effect.WRITE})(lambda: "")
    plugins = {"needy": Plugin(), "writing": Tools(writing)}
    with opened(tmp_path, ["a", "b", "c", "d"], plugins=plugins) as (session, model):
        list(session.run("go"))
        list(session.run("go on"))
        session.set_mode(Mode.PLAN)
        list(session.run("plan"))
        session.set_mode(Mode.ASK)
        list(session.run("go on"))
    names = [[definition.name for definition in request.tools] for request in model.requests]
    assert names == [["always", "write"]] * 2 + [["always"], ["always", "write"]]
    first, second, _, last = model.requests
    assert second.tools is first.tools
    assert (last.tools, last.system) == (first.tools, first.system)
