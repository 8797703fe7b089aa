"""Every hook fires in one session, for the first time in the order of the specifications."""

import inspect
from types import SimpleNamespace

import pytest
from attrs import frozen
from nanocoder import ApprovalAnswer, Plugins, Question, hookimpl, open_session, tool
from nanocoder.hooks import specs
from nanocoder.plugins.introspect import OFFERS
from nanocoder_testing import Scripted


@frozen
class Settings:
    colour: str = "red"


@tool(risk="dangerous", effects={"execute"})
def wonder(ctx) -> str:
    """Ask the person something."""
    return ctx.ask(Question("Which?", choices=("red", "blue")))


ANSWERS = {
    "nanocoder_settings": lambda _: Settings,
    "nanocoder_tools": lambda _: [wonder],
    "nanocoder_select_provider": lambda _: "script/play",
    "nanocoder_approve": lambda given: ApprovalAnswer(
        given["request"].id, given["request"].digest, approved=True
    ),
    "nanocoder_ask": lambda _: "blue",
}


def specifications():
    names = [name for name in vars(specs) if name.startswith("nanocoder_")]
    return {name: getattr(specs, name) for name in names}


def recording(name, specification, fired):
    """Make an implementation that takes what the specification names, notes it, and answers."""
    # With `tools` the recorder would wrap the tools of others, not offer its own.
    offers_tools = name == "nanocoder_tools"
    arguments = [] if offers_tools else list(inspect.signature(specification).parameters)
    offers = "[]" if name in OFFERS or name == "nanocoder_settings" else "None"
    source = f"def {name}({', '.join(arguments)}):\n    return note({name!r}, locals())\n"
    space = {"note": lambda hook, given: note(hook, given, eval(offers))}

    def note(hook, given, default):
        fired.append((hook, given))
        return ANSWERS.get(hook, lambda _: default)(given)

    exec(source, space)
    return hookimpl(space[name])


@pytest.fixture
def fired(tmp_path):
    """Play one session with a recorder for every hook; return what fired, with what."""
    found = []
    made = {name: recording(name, spec, found) for name, spec in specifications().items()}
    plugins = Plugins()
    plugins.add(SimpleNamespace(**made), "recorder")
    turns = [[("wonder", {})], "Blue, then."]
    plugins.add(Scripted(turns, context=1_000), "script")
    with open_session(tmp_path, plugins=plugins, interactive=True, persist=False) as session:
        list(session.run("word " * 2_000))
        assert session.report.text == "Blue, then."
    assert plugins.reports == []
    return found


def test_every_hook_fires_for_the_first_time_in_the_order_of_the_specifications(fired):
    assert list(dict.fromkeys(hook for hook, _ in fired)) == list(specifications())


def test_the_styles_name_every_hook_in_the_same_order():
    assert list(specs.STYLES) == list(specifications())
    assert set(specs.STYLES.values()) == {"collect", "choose", "judge", "chain", "tell"}


def test_a_hook_gets_what_it_is_specified_to_get(fired):
    empty = [(hook, name) for hook, given in fired for name, one in given.items() if one is None]
    assert set(empty) <= {("nanocoder_render", "result")}
    settings = {type(given["settings"]) for _, given in fired if "settings" in given}
    assert settings == {Settings}


def test_events_begin_and_end_with_the_session(fired):
    kinds = [given["event"].kind for hook, given in fired if hook == "nanocoder_event"]
    assert (kinds[0], kinds[-1]) == ("session.started", "session.finished")
    assert kinds.count("session.started") == kinds.count("session.finished") == 1
