"""The store, its records and its summaries are documented where they are defined."""

import inspect

import pytest
from nanocoder_kit_sessions import Record, SessionStore, SessionSummary


@pytest.mark.parametrize("value", [Record, SessionStore, SessionSummary])
def test_every_public_method_has_a_docstring(value):
    public = {name: member for name, member in vars(value).items() if not name.startswith("_")}
    kinds = (property, classmethod, staticmethod)
    methods = {
        name: member
        for name, member in public.items()
        if inspect.isfunction(member) or isinstance(member, kinds)
    }
    assert inspect.getdoc(value)
    assert methods
    assert [name for name, member in methods.items() if not inspect.getdoc(member)] == []
