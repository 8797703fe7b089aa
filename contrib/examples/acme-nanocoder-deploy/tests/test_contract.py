"""The contract of every plugin, kept by this one."""

import json

import pytest
from nanocoder_testing.contract import *  # noqa: F403


@pytest.fixture
def contract_workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    tickets = {"DEP-7": {"service": "shop", "version": "1.2.3", "state": "waiting", "owner": "ada"}}
    (folder / "deploy-tickets.json").write_text(json.dumps(tickets))
    return folder.resolve()
