"""The README names what the store, its records and its summaries have."""

import re
from pathlib import Path

import attrs
import pytest
from nanocoder_kit_sessions import Record, SessionStore, SessionSummary

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("value", [Record, SessionSummary])
def test_the_readme_has_every_field(value):
    names = {field.name for field in attrs.fields(value)}
    assert names - set(re.findall(r"`(\w+)", README)) == set()


def test_the_readme_has_every_method_of_the_store():
    methods = {name for name in vars(SessionStore) if not name.startswith("_")}
    assert methods - set(re.findall(r"`(?:SessionStore\.)?(\w+)", README)) == set()
