"""What tools cost a model, in tokens as `count_tokens` estimates them; no time is measured."""

import json

import prompt_page
import pytest
import repository
from nanocoder import Plugins, count_tokens
from nanocoder_testing import opened
from prompt_page import tools_of_the_default_set

FIRST_REQUEST = 1_900
"""The system prompt, the tools and a short prompt, with every plugin of the repository."""
ONE_TOOL_ON_AVERAGE = 150
DEFAULT_SET = 3_000
"""All tools of the default set together, if none of them were deferred."""
SYSTEM_PROMPT = 350
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


@pytest.mark.timeout(60)
def test_a_tool_costs_little_on_average(installed):
    tokens = {name: one.tokens for name, one in installed.tools().items()}
    average = sum(tokens.values()) / len(tokens)
    assert average <= ONE_TOOL_ON_AVERAGE, sorted(tokens.items(), key=lambda one: -one[1])


def test_the_tools_of_the_default_set_are_affordable_together():
    tokens = {one.name: one.tokens for one in tools_of_the_default_set()}
    assert len(tokens) > 1
    assert sum(tokens.values()) <= DEFAULT_SET, tokens


def test_a_small_model_gets_the_everyday_tools_of_the_default_set_and_no_others():
    tools = tools_of_the_default_set()
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


def test_the_system_prompt_is_short_and_says_where_the_model_is():
    prompt = prompt_page.prompt()
    assert count_tokens(prompt) <= SYSTEM_PROMPT
    for fact in ("2030-01-31", "Linux", "sandbox", "network", "Mode ask"):
        assert fact in prompt


def test_the_page_of_what_a_model_reads_is_what_it_reads():
    page = prompt_page.PAGE.read_text(encoding="utf-8")
    assert page == prompt_page.page(), "write it with `nox -s reference`"


@pytest.mark.contract("NT-03")
def test_a_tool_of_the_default_set_says_what_comes_back_and_a_parameter_what_it_takes():
    for one in prompt_page.definitions():
        assert len(one.description.split()) >= 8, one.name
        for name, parameter in one.parameters["properties"].items():
            assert parameter.get("description") or parameter.get("enum"), (one.name, name)
