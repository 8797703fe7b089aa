"""The contract of every plugin, kept by this one."""

import pytest
from nanocoder_testing.contract import *  # noqa: F403

SUITE = """
import unittest

class Tests(unittest.TestCase):
    def test_hello(self):
        self.assertEqual("hello".upper(), "HELLO")
"""


@pytest.fixture
def contract_workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "test_hello.py").write_text(SUITE)
    return folder.resolve()
