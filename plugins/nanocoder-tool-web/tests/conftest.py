"""Servers on 127.0.0.1."""

from collections.abc import Iterator

import pytest
from nanocoder_kit_llm.net.testing import PageServer


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer() as started:
        yield started


@pytest.fixture
def other() -> Iterator[PageServer]:
    with PageServer() as started:
        yield started
