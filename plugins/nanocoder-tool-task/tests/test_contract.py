"""The promises that every plugin keeps."""

import nanocoder_tool_task
import pytest
from attrs import frozen
from nanocoder import hookimpl
from nanocoder_testing.contract import *  # noqa: F403


@pytest.fixture(autouse=True)
def a_model_for_sub_agents(script, tools, monkeypatch):
    """Give sub-agents a model: that of the contract's sessions has no turns for them."""
    greeting = script({"text": "Hello."})

    @frozen
    class Settings(nanocoder_tool_task.Settings):
        __doc__ = nanocoder_tool_task.Settings.__doc__
        model: str = greeting

    offers = tools["models"].nanocoder_providers
    monkeypatch.setattr(nanocoder_tool_task, "nanocoder_settings", hookimpl(lambda: Settings))
    monkeypatch.setattr(nanocoder_tool_task, "nanocoder_providers", offers, raising=False)
