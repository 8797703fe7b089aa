"""Calls in the dialect, made by a scripted model and run by the installed tools."""

import json
from pathlib import Path

import pytest
from nanocoder import Plugins
from nanocoder.testing import play

DIALECT = "s02"


@pytest.fixture(scope="session")
def manifest(tmp_path_factory):
    return tmp_path_factory.mktemp("manifest") / "plugins.json"


@pytest.fixture
def played(tmp_path, manifest):
    """Play calls in one turn, in mode "auto"."""

    def run(*calls, **options):
        plugins = Plugins.installed(manifest)
        for name, plugin in options.pop("with_plugins", {}).items():
            plugins.add(plugin, name)
        options = {"mode": "auto", "dialect": DIALECT, **options}
        return play(tmp_path, [list(calls), "Done."], plugins=plugins, **options)

    return run


@pytest.fixture
def said(played):
    """Return what the model reads of each call."""
    return lambda *calls, **options: [one.output for one in played(*calls, **options).results]


@pytest.fixture
def golden():
    """Return a JSON file that lies beside the tests."""
    return lambda name: json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


@pytest.fixture
def offers(manifest):
    """Return what the model is told of the tools, as the reference sends it, by name."""
    plugins = Plugins.installed(manifest)
    _, dialect = plugins.offered("dialects", DIALECT)
    found = dialect.offer(list(plugins.tools().values()))
    return {offer["name"]: dict(dialect.wire(offer)) for offer in found}
