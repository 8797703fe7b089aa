"""Tools tried again, limited in time and replaced by what the configuration says, without code."""

import json
import re
import sys

import pytest
from attrs import frozen
from nanocoder import (
    ConfigError,
    Effect,
    ToolContext,
    ToolError,
    hookimpl,
    open_session,
    tool,
)
from nanocoder.config.config import Config
from nanocoder.plugins import Plugins
from nanocoder.wrapping import configure
from nanocoder_testing.playing import agree, called


@frozen
class Place:
    """Where words are looked up."""

    name: str


@frozen
class Settings:
    """*answer*: what look answers."""

    answer: str = "from the second"


class First:
    def __init__(self):
        self.calls = 0

    @hookimpl
    def nanocoder_tools(self):
        @tool(effects={Effect.READ, Effect.NETWORK}, risk="safe")
        def fetch(word: str, place: Place | None = None) -> str:
            """Fetch a word."""
            self.calls += 1
            raise ToolError(f"no {word}, try {self.calls}", error_class="not_there")

        @tool(effects={Effect.READ}, risk="safe")
        def linger(ctx: ToolContext) -> str:
            """Wait to be cancelled."""
            ctx.cancelled.wait(30)
            ctx.cancelled.check()
            return ""

        @tool(effects={Effect.WRITE})
        def post(word: str) -> str:
            """Post a word."""
            return word

        return [fetch, linger, post]


class Second:
    @hookimpl
    def nanocoder_settings(self):
        return Settings

    @hookimpl
    def nanocoder_tools(self):
        @tool(effects={Effect.EXECUTE}, risk="dangerous")
        def look(ctx: ToolContext, word: str, place: Place | None = None) -> str:
            """Look a word up."""
            where = place.name if place else "nowhere"
            return f"{word} {where} {ctx.settings.answer}"

        @tool(effects={Effect.READ}, risk="safe")
        def other(text: str) -> str:
            """Take something else."""
            return text

        return [look, other]


class Files:
    """A home and a workspace with configuration files."""

    def __init__(self, folder):
        self.workspace = folder / "work"
        self.home = folder / "home"
        self.user = self.home / ".config/nanocoder/config.toml"
        self.project = self.workspace / ".nanocoder/config.toml"
        for file in (self.user, self.project):
            file.parent.mkdir(parents=True)
        self.first = First()

    def configured(self, user="", project="", *, trusted=False):
        self.user.write_text(user)
        self.project.write_text(project)
        environment = {"HOME": str(self.home)}
        config = Config.load(self.workspace, environment=environment, trusted=trusted)
        plugins = Plugins()
        plugins.add(self.first, "tool-first")
        plugins.add(Second(), "tool-second")
        configure(plugins, config)
        return plugins, config

    def call(self, name, arguments, user="", project="", **options):
        plugins, config = self.configured(user, project, **options)
        with open_session(
            self.workspace, plugins=plugins, config=config, persist=False, approve=agree
        ) as session:
            return called(session, name, arguments)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


FALLBACK = '[tools.wrap.fetch]\nretry = 3\nfallback = "look"\n'


@pytest.mark.contract("CO-02")
def test_a_call_is_tried_as_often_as_the_configuration_says(files):
    result, events = files.call("fetch", {"word": "tea"}, "[tools.wrap.fetch]\nretry = 3\n")
    assert (result.error_class, result.output) == ("not_there", "no tea, try 3")
    said = [one.data["text"] for one in events if one.kind == "call.progress"]
    assert said == ["attempt 1 of 3 failed", "attempt 2 of 3 failed"]


@pytest.mark.contract("CO-02")
def test_another_plugins_tool_takes_over_with_its_own_settings_and_is_a_step(files):
    arguments = {"word": "tea", "place": {"name": "here"}}
    result, events = files.call("fetch", arguments, FALLBACK)
    assert result.output == "tea here from the second"
    assert files.first.calls == 3
    steps = [one.data["tool"] for one in events if one.kind == "call.started"]
    assert steps == ["fetch", "look"]


@pytest.mark.contract("CO-02")
def test_who_consents_to_a_tool_is_told_what_its_fallback_may_do(files):
    plugins, _ = files.configured(FALLBACK)
    found = plugins.tools()["fetch"]
    assert found.effects == {Effect.READ, Effect.NETWORK, Effect.EXECUTE}
    assert found.risk == "dangerous"
    assert found.composed_of == ("look",)


@pytest.mark.contract("CO-02")
def test_a_call_ends_after_the_time_that_the_configuration_gives(files):
    result, _ = files.call("linger", {}, "[tools.wrap.linger]\ntimeout_s = 0.05\n")
    assert result.error_class == "timeout"
    assert "0.05 s" in result.output


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[tools.wrap.fetch]\nretry = 0\n", 2, "retry: expected a whole number of at least 1"),
        ("[tools.wrap.fetch]\nretyr = 2\n", 2, "fetch.retyr: unknown key; did you mean 'retry'?"),
        ("[tools.wrap]\nfetch = 3\n", 2, "tools.wrap.fetch: expected a table, got 3"),
        ("[tools.wrap.fetsh]\nretry = 2\n", 2, "no tool 'fetsh'; did you mean 'fetch'?"),
        ('[tools.wrap.fetch]\nfallback = "luk"\n', 2, "no tool 'luk'; did you mean 'look'?"),
        ('[tools.wrap.fetch]\nfallback = "other"\n', 2, "it does not take place, word"),
        ('[tools.wrap.fetch]\nfallback = "fetch"\n', 2, "it needs a fallback itself"),
        ("\n[tools.wrap.post]\nwait_s = 1\nretry = 2\n", 4, "its calls change something"),
    ],
)
def test_a_wrapper_that_cannot_be_is_refused_with_file_and_line(files, text, line, said):
    with pytest.raises(ConfigError, match=re.escape(said)) as refused:
        files.configured(text)
    assert str(refused.value).startswith(f"{files.user}:{line}: tools.wrap.")


def test_fallbacks_that_lead_back_are_refused(files):
    text = FALLBACK + '[tools.wrap.look]\nfallback = "fetch"\n'
    with pytest.raises(ConfigError, match="look cannot stand in for fetch"):
        files.configured(text)


def test_a_wrapper_of_a_tool_that_is_switched_off_does_not_matter(files):
    plugins, _ = files.configured(FALLBACK + '[tools]\ndisable = ["fetch"]\n')
    assert "fetch" not in plugins.tools()
    plugins, _ = files.configured(FALLBACK + '[tools]\ndisable = ["look"]\n')
    assert plugins.tools()["fetch"].effects == {Effect.READ, Effect.NETWORK}
    plugins, _ = files.configured(FALLBACK + '[plugins]\ndisable = ["tool-second"]\n')
    assert "fetch" in plugins.tools()


@pytest.mark.contract("CO-02")
def test_a_project_that_nobody_trusts_only_shortens(files):
    project = "call_timeout_s = 500\n" + FALLBACK + "wait_s = 9\ntimeout_s = 500\n"
    plugins, config = files.configured("call_timeout_s = 60\n", project)
    found = plugins.tools()["fetch"]
    assert (found.timeout_s, found.composed_of) == (60, ())
    assert config.tool_wraps["fetch"].retry == 1
    assert sum("only your own configuration" in notice for notice in config.notices) == 3
    plugins, _ = files.configured("[tools.wrap.fetch]\ntimeout_s = 9\n", project)
    assert plugins.tools()["fetch"].timeout_s == 9
    plugins, _ = files.configured(FALLBACK, "[tools.wrap.fetch]\ntimeout_s = 500\n")
    assert plugins.tools()["fetch"].timeout_s == 120
    files.configured("", "[tools.wrap.no_such_tool]\ntimeout_s = 1\n")


def test_a_project_that_is_trusted_sets_the_time_and_nothing_else(files):
    plugins, config = files.configured("", FALLBACK + "timeout_s = 500\n", trusted=True)
    assert plugins.tools()["fetch"].timeout_s == 500
    assert config.tool_wraps["fetch"].fallback == ""


@pytest.mark.timeout(60)
@pytest.mark.contract("CO-02")
def test_the_command_shows_wrappers_and_loads_no_tool_for_them(nanocoder):
    path = nanocoder.home / ".config/nanocoder/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '[tools.wrap.grep]\nretry = 2\nwait_s = 1.5\ntimeout_s = 20\nfallback = "grep2"\n'
    )
    assert "there is no tool 'grep2'; did you mean 'grep'?" in nanocoder("tools").stderr
    path.write_text("[tools.wrap.grep]\nretry = 2\nwait_s = 1.5\ntimeout_s = 20\n")
    watched = f"{sys.executable} -X importtime -m nanocoder"
    listed = nanocoder("tools", command=watched)
    assert f"grep: tried 2 times, 1.5 s apart; at most 20 s ({path}:2)" in listed.stdout
    assert "nanocoder_tool_" not in listed.stderr
    found = json.loads(nanocoder("tools", "--output", "json").stdout)
    (wrap,) = [one["wrap"] for one in found if one["wrap"]]
    assert wrap == {"retry": 2, "wait_s": 1.5, "timeout_s": 20.0, "fallback": ""}
    shown = nanocoder("config", "show").stdout
    assert re.search(r"tools\.wrap\.grep\.retry +2 +.*config\.toml:2", shown)
    schema = json.loads(nanocoder("config", "schema").stdout)
    table = schema["properties"]["tools"]["properties"]["wrap"]["additionalProperties"]
    assert set(table["properties"]) == {"retry", "wait_s", "timeout_s", "fallback"}


@pytest.mark.timeout(60)
def test_a_wrapper_that_cannot_be_leaves_a_session_as_it_was_when_it_is_read_again(nanocoder):
    path = nanocoder.home / ".config/nanocoder/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[tools.wrap.grep]\ntimeout_s = 20\n")
    with open_session(nanocoder.cwd, environment=nanocoder.environment) as session:
        assert session.tools["grep"].timeout_s == 20
        path.write_text("[tools.wrap.grep]\ntimeout_s = 5\n[tools.wrap.edit_file]\nretry = 2\n")
        with pytest.raises(ConfigError, match="its calls change something"):
            session.reload()
        assert session.tools["grep"].timeout_s == 20
        path.write_text("[tools.wrap.grep]\ntimeout_s = 5\n")
        session.reload()
        assert session.tools["grep"].timeout_s == 5
