"""The page on models says for every key what is the least that it has to allow."""

import importlib

import pytest
import repository

PAGE = repository.ROOT / "docs/how-to/choose-a-model.md"


def variables():
    """Return every environment variable that holds a key of one of our providers."""
    for plugin in repository.plugins():
        module = importlib.import_module(plugin.module)
        for spec in getattr(module, "nanocoder_providers", list)():
            yield from spec.key_variables


@pytest.mark.contract("NT-64")
def test_the_least_that_every_key_has_to_allow_is_said():
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if "_API_KEY`" in line or "TOKEN" in line
    ]
    table = "\n".join(row for row in rows if row.startswith("|"))
    named = {name for name in variables() if not name.endswith("_FILE")}
    assert "OPENAI_API_KEY" in named
    assert sorted(name for name in named if f"`{name}`" not in table) == []
