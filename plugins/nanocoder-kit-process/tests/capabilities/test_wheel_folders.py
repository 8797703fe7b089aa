"""The folders of wheels that `uv tool install` was given."""

import sys

import pytest
from nanocoder_kit_process.capabilities import first_links

RECEIPT = '[tool]\n[tool.options]\nfind-links = ["file:///a/dist", "/b"]\n'


@pytest.mark.parametrize(
    ("receipt", "options"),
    [
        (RECEIPT, ["--find-links", "file:///a/dist", "--find-links", "/b"]),
        ("[tool]\nrequirements = []\n", []),
        ("[tool.options]\nfind-links = 3\n", []),
        ("not toml", []),
        (None, []),
    ],
)
def test_they_are_read_from_its_receipt(tmp_path, monkeypatch, receipt, options):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    if receipt is not None:
        (tmp_path / "uv-receipt.toml").write_text(receipt)
    assert first_links() == options
