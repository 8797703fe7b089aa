"""What tools cost a model, in tokens as `count_tokens` estimates them; no time is measured."""

import json
import re

import pytest
import repository
from nanocoder import Plugins, count_tokens
from nanocoder_testing import opened

FIRST_REQUEST = 1_225
"""The system prompt, the tools and a short prompt, with every plugin of the repository."""
ONE_TOOL_ON_AVERAGE = 102
DEFAULT_SET = 2_200
"""All tools of the default set together, if none of them were deferred."""
PROMPT = "Fix the failing test in tests/test_parser.py."


@pytest.fixture(scope="module")
def installed():
    """Return the plugins of this environment: all of the repository."""
    plugins = Plugins.installed()
    ours = {one.name for one in repository.packages()} & distributions(plugins)
    tools = {one.name for one in repository.plugins() if one.kind == "tool"}
    assert sorted(tools - ours) == [], "install them: nox -s contract does"
    return plugins


def distributions(plugins):
    return {entry.distribution for entry in plugins.entries.values()}


def of_the_default_set():
    """Return the names of the plugins that the default set depends on."""
    (chosen,) = (one for one in repository.plugins() if one.name.endswith("set-default"))
    names = (re.split(r"[\[<>=~! ]", line)[0] for line in chosen.project["project"]["dependencies"])
    return set(names)


@pytest.mark.timeout(60)
def test_a_tool_costs_little_on_average(installed):
    tokens = {name: one.tokens for name, one in installed.tools().items()}
    average = sum(tokens.values()) / len(tokens)
    assert average <= ONE_TOOL_ON_AVERAGE, sorted(tokens.items(), key=lambda one: -one[1])


def tools_of_the_default_set(installed):
    default = of_the_default_set()
    owner = {name: entry.distribution for name, entry in installed.entries.items()}
    return [one for one in installed.tools().values() if owner[one.plugin] in default]


def test_the_tools_of_the_default_set_are_affordable_together(installed):
    tokens = {one.name: one.tokens for one in tools_of_the_default_set(installed)}
    assert len(tokens) > 1
    assert sum(tokens.values()) <= DEFAULT_SET, tokens


def test_a_small_model_gets_the_everyday_tools_of_the_default_set_and_no_others(installed):
    tools = tools_of_the_default_set(installed)
    short = {tool.name for tool in tools if tool.short}
    listed = {tool.name for tool in tools if tool.always_listed}
    assert short == listed, "its set is measured; measure a new one first"


def test_the_first_request_stays_small_with_every_plugin_installed(installed, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    with opened(folder, ["Done."], plugins=installed, mode="auto") as (session, model):
        list(session.run(PROMPT))
    (request,) = model.requests
    wire = [[one.name, one.description, dict(one.parameters)] for one in request.tools]
    whole = "\n".join([request.system, json.dumps(wire), PROMPT])
    cost = {one[0]: count_tokens(json.dumps(one)) for one in wire}
    assert count_tokens(whole) <= FIRST_REQUEST, cost
    assert len(wire) < len(session.tools)
