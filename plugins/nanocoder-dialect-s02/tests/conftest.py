"""Calls in the dialect, made by a scripted model and run by the installed tools."""

import pytest
from nanocoder_kit_dialect.testing import golden, manifest, offers, played, said, said_when_changed

__all__ = ["golden", "manifest", "offers", "played", "said", "said_when_changed"]


@pytest.fixture(scope="session")
def dialect_name():
    return "s02"
