"""The pytest plugin: loaded by name in every environment that has the core and pytest."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that says which row of a contract a test meets."""
    config.addinivalue_line("markers", "contract(row): the contract row that this test meets")
