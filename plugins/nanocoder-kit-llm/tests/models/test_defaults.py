"""The default models of all providers are current by the table."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

defaults = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("defaults.py"))))
TABLES = defaults.tables()


def test_no_default_model_is_behind_the_table():
    """`nox -s models` proposes the change."""
    assert defaults.proposals() == []


@pytest.mark.parametrize("provider", sorted(defaults.defaults()))
def test_a_default_model_with_a_version_is_in_the_table(provider):
    model = defaults.defaults()[provider]
    has_version = defaults.family_and_version(model)[1]
    assert not has_version or defaults.vendors_of(model, TABLES), model


MODELS = {
    "acme": {
        "models": [
            {"names": ["duck-4-6", "duck-4-6-20260101", "duck-5-5"]},
            {"names": ["duck-6-preview"]},
            {"names": ["goose-9", "gpt-oss-120b"]},
        ]
    },
    "x-ai": {"models": [{"names": ["grok-4.20", "grok-4.7", "grok-4.3"]}]},
    "openai": {"models": [{"names": ["gpt-5.6", "gpt-5.5", "gpt-6.1-sol"]}]},
}


@pytest.mark.parametrize(
    ("vendor", "model", "best"),
    [
        ("acme", "duck-4-6", "duck-5-5"),
        ("acme", "duck-5-5", "duck-5-5"),
        ("acme", "gpt-oss-120b", "gpt-oss-120b"),
        ("acme", "swan-latest", "swan-latest"),
        ("x-ai", "grok-4.3", "grok-4.7"),
        ("openai", "gpt-5.5", "gpt-5.6"),
    ],
)
def test_the_newest_of_a_family_has_the_highest_version(vendor, model, best):
    assert defaults.newest(vendor, model, MODELS) == best


def test_a_new_generation_of_a_vendor_is_seen_under_another_name():
    assert defaults.newer_generation("openai", "gpt-5.6", MODELS) == ["gpt-6.1-sol"]
    assert defaults.newer_generation("openai", "gpt-6.1-sol", MODELS) == []
