"""The page on models says for every key what is the least that it has to allow."""

import importlib
import os

import attrs
import pytest
import repository

WAYS = (("never-run", "--print"), ())
PAGE = repository.ROOT / "docs/how-to/choose-a-model.md"


def variables():
    """Return every environment variable that holds a key of one of our providers."""
    for name in repository.entry_points().values():
        module = importlib.import_module(name)
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


def with_key_commands():
    """Yield each provider that has a default model and takes `key_command`, and its settings."""
    for name in repository.entry_points().values():
        module = importlib.import_module(name)
        specs = getattr(module, "nanocoder_providers", list)()
        settings = getattr(module, "nanocoder_settings", lambda: None)()
        names = {field.name for field in attrs.fields(settings)} if settings else set()
        if specs and specs[0].default_model and "key_command" in names:
            yield specs[0], settings


@pytest.mark.contract("NT-64")
def test_a_program_that_prints_the_key_is_enough_for_its_provider_to_be_chosen(monkeypatch):
    for variable in (name for name in os.environ if name.endswith("_BASE_URL")):
        monkeypatch.delenv(variable)
    chosen = {
        spec.name: [
            bool(spec.probe and spec.probe(settings(key_command=command))) for command in WAYS
        ]
        for spec, settings in with_key_commands()
    }
    assert len(chosen) > 2
    assert chosen == {name: [True, False] for name in chosen}
