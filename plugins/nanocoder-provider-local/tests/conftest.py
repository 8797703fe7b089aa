import os
from pathlib import Path

import pytest
from nanocoder import Cancel, Message, Request
from nanocoder_provider_local.locate import is_usable
from nanocoder_provider_local.provider import LocalProvider, open_local
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "model: needs the weights (1.1 GB) and minutes of computing")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("model") is None or is_usable(Settings()):
        return
    if os.environ.get("CI") == "true":
        pytest.fail("the weights are not installed: nanocoder-provider-local[weights]")
    pytest.skip("the weights are not installed: nanocoder-provider-local[weights]")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The real model, loaded once for all tests that need it."""
    provider: LocalProvider = open_local(DEFAULT_MODEL, Settings(context=4_096))
    list(provider.stream(Request("m", "", [Message("user", "Hi")], max_tokens=1), Cancel()))
    yield provider
    provider.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
