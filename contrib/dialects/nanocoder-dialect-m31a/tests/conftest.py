"""Calls in the dialect, made by a scripted model and run by the installed tools."""

import pytest
from nanocoder_kit_dialect.testing import (
    answer_to_edited,
    answers,
    golden,
    manifest,
    offers,
    play_calls,
)

__all__ = ["answer_to_edited", "answers", "golden", "manifest", "offers", "play_calls"]


@pytest.fixture(scope="session")
def dialect_name():
    return "m31a"
