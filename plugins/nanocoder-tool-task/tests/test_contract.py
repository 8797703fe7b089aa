"""The promises that every plugin keeps."""

import nanocoder_tool_task
import pytest
from attrs import frozen
from nanocoder import hookimpl
from nanocoder.testing.contract import *  # noqa: F403


@pytest.fixture(autouse=True)
def scripted_by_default(script, monkeypatch):
    """Give sub-agents a model: that of the contract's sessions is no installed one."""
    greeting = script({"text": "Hello."})

    @frozen
    class Settings(nanocoder_tool_task.Settings):
        __doc__ = nanocoder_tool_task.Settings.__doc__
        model: str = greeting

    monkeypatch.setattr(nanocoder_tool_task, "nanocoder_settings", hookimpl(lambda: Settings))
