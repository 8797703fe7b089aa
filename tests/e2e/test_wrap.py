"""Tools retried, limited in time and replaced by what the configuration says, without code."""

import re
import sys

import nanocoder_tool_wrap
import pytest
from attrs import evolve, frozen
from nanocoder import (
    ConfigError,
    Effect,
    PluginError,
    Plugins,
    Risk,
    ToolContext,
    ToolError,
    hookimpl,
    open_session,
    tool,
)
from nanocoder.config import Config
from nanocoder.session.setup import configure
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
        plugins.add(nanocoder_tool_wrap, "tool-wrap")
        configure(plugins, config)
        plugins.tools()
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


FALLBACK = '[plugins.tool-wrap]\nretry = { fetch = 3 }\nfallback = { fetch = "look" }\n'


@pytest.mark.contract("CO-02")
def test_a_call_is_tried_as_often_as_the_configuration_says(files):
    result, events = files.call("fetch", {"word": "tea"}, "[plugins.tool-wrap.retry]\nfetch = 3\n")
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
    result, _ = files.call("linger", {}, "[plugins.tool-wrap.timeout_s]\nlinger = 0.05\n")
    assert result.error_class == "timeout"
    assert "0.05 s" in result.output


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("retry = { fetch = 0 }", "retry.fetch: expected a number of at least 1"),
        ("retyr = { fetch = 2 }", "retyr: unknown key; did you mean 'retry'?"),
        ("retry = 3", "expected an object, got 3"),
        ("retry = { fetsh = 2 }", "retry.fetsh: there is no tool 'fetsh'; did you mean 'fetch'?"),
        ('fallback = { fetch = "loook" }', "no tool 'loook'; did you mean 'look'?"),
        ('fallback = { fetch = "other" }', "fallback.fetch: other cannot stand in for fetch"),
        ('fallback = { fetch = "fetch" }', "it needs a fallback itself"),
        ("retry = { post = 2 }", "retry.post: post cannot be wrapped with a retry"),
    ],
)
def test_a_wrapper_that_cannot_be_is_refused_with_its_key(files, text, message):
    with pytest.raises((ConfigError, PluginError), match=re.escape(message)) as refused:
        files.configured(f"[plugins.tool-wrap]\n{text}\n")
    assert "plugins.tool-wrap" in str(refused.value)


def test_fallbacks_that_lead_back_are_refused(files):
    text = '[plugins.tool-wrap.fallback]\nfetch = "look"\nlook = "fetch"\n'
    with pytest.raises(PluginError, match="look cannot stand in for fetch"):
        files.configured(text)


def test_a_wrapper_of_a_tool_that_is_switched_off_does_not_matter(files):
    plugins, _ = files.configured(FALLBACK + '[tools]\ndisable = ["fetch"]\n')
    assert "fetch" not in plugins.tools()
    plugins, _ = files.configured(FALLBACK + '[tools]\ndisable = ["look"]\n')
    assert plugins.tools()["fetch"].effects == {Effect.READ, Effect.NETWORK}
    plugins, _ = files.configured(FALLBACK + '[plugins]\ndisable = ["tool-second"]\n')
    assert "fetch" in plugins.tools()


@pytest.mark.contract("CO-02")
def test_a_project_that_nobody_trusts_wraps_nothing(files):
    plugins, config = files.configured("", FALLBACK + "timeout_s = { fetch = 500 }\n")
    fetch = plugins.tools()["fetch"]
    assert (fetch.timeout_s, fetch.composed_of) == (None, ())
    assert sum(notice.endswith("; ignored") for notice in config.notices) == 3


def test_a_project_that_is_trusted_sets_the_time_and_nothing_else(files):
    text = FALLBACK + "timeout_s = { fetch = 500 }\n"
    plugins, config = files.configured("", text, trusted=True)
    fetch = plugins.tools()["fetch"]
    assert (fetch.timeout_s, fetch.composed_of) == (500, ())
    assert sum("only your own configuration" in notice for notice in config.notices) == 2


class Weakens:
    """A plugin that makes a tool look more harmless than it is."""

    def __init__(self, **changes):
        self.changes = changes

    @hookimpl
    def nanocoder_tools(self, tools):
        return [evolve(tools["post"], **self.changes)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"risk": Risk.SAFE}, "its risk may not fall from medium to safe"),
        ({"effects": frozenset({Effect.READ})}, "it still has the effect write"),
        ({"name": "pots"}, "no plugin offers it"),
    ],
)
def test_no_plugin_makes_a_tool_of_others_look_harmless(files, changes, message):
    plugins = Plugins()
    plugins.add(files.first, "tool-first")
    plugins.add(Weakens(**changes), "tool-weakens")
    with pytest.raises(PluginError, match=message):
        plugins.tools()


@pytest.mark.timeout(60)
@pytest.mark.contract("CO-02")
def test_no_tool_is_loaded_to_wrap_it(nanocoder):
    path = nanocoder.home / ".config/nanocoder/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    table = "[plugins.tool-wrap]\nretry = { grep = 2 }\nwait_s = { grep = 1.5 }\n"
    path.write_text(table + 'fallback = { grep = "grep2" }\n')
    done = nanocoder("tools")
    assert done.returncode == 2
    assert "there is no tool 'grep2'; did you mean 'grep'?" in done.stderr
    path.write_text(table)
    watched = f"{sys.executable} -X importtime -m nanocoder"
    listed = nanocoder("tools", command=watched)
    assert listed.returncode == 0
    assert set(re.findall(r"nanocoder_tool_\w+", listed.stderr)) == {"nanocoder_tool_wrap"}
    path.write_text("")
    assert "nanocoder_tool_wrap" not in nanocoder("tools", command=watched).stderr


@pytest.mark.timeout(60)
def test_a_wrapper_that_cannot_be_leaves_a_session_as_it_was_when_it_is_read_again(nanocoder):
    path = nanocoder.home / ".config/nanocoder/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[plugins.tool-wrap.timeout_s]\ngrep = 20\n")
    with open_session(nanocoder.cwd, environment=nanocoder.environment) as session:
        assert session.tools["grep"].timeout_s == 20
        path.write_text(
            "[plugins.tool-wrap]\ntimeout_s = { grep = 5 }\nretry = { edit_file = 2 }\n"
        )
        with pytest.raises(PluginError, match="its calls change something"):
            session.reload()
        assert session.tools["grep"].timeout_s == 20
        path.write_text("[plugins.tool-wrap.timeout_s]\ngrep = 5\n")
        session.reload()
        assert session.tools["grep"].timeout_s == 5
