"""Plugins that several threads need for the first time at once are loaded once."""

import importlib
import sys
import threading
from types import SimpleNamespace

import pytest
from nanocoder import Plugins, hookimpl
from nanocoder.plugins.introspect import describe
from nanocoder_discovery import Entry

THREADS = 8
SOURCE = '''
"""A plugin whose hooks take a while to be found."""

import time

from nanocoder import hookimpl, tool


@tool(risk="safe", effects={"read"})
def wave() -> str:
    """Wave a hand."""
    return "hello"


@hookimpl
def nanocoder_tools():
    return [wave]


looks = []


def __dir__():
    looks.append(1)
    # Each thread looks twice: one is done with both when the last is with its first.
    time.sleep(0.02 * len(looks) if len(looks) <= 8 else 0)
    return ["nanocoder_tools"]
'''


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    (tmp_path / "slow_to_find.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    described = describe(importlib.import_module("slow_to_find"), "slow")
    monkeypatch.delitem(sys.modules, "slow_to_find")
    plugins = Plugins(
        {"slow": Entry("slow", "slow_to_find", "acme-slow", "1", description=described)}
    )
    plugins.add(SimpleNamespace(nanocoder_prompt=hookimpl(lambda: None)), "loaded-before")
    return plugins


def test_the_first_calls_of_a_plugin_may_come_at_once(plugins):
    start = threading.Barrier(THREADS)
    found, broken = [], []

    def work():
        start.wait()
        try:
            found.append(plugins.tools()["wave"].real()())
        except Exception as error:  # noqa: BLE001 - whatever is raised is what is counted
            broken.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (broken, found) == ([], ["hello"] * THREADS)
    assert plugins.set_aside == {}
