"""A folder that an installation broke off in, or that pip left behind, hides no other package."""

from pathlib import Path

import importlib_metadata  # noqa: F401 - takes the standard library's place once it is imported
import pytest
from nanocoder_kit_process.capabilities import readable_distributions


@pytest.mark.parametrize("metadata", [None, "", "Version: 1.0\n"])
def test_a_distribution_without_a_name_is_left_out(tmp_path: Path, metadata: str | None):
    for name in ("half", "whole"):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
    (tmp_path / "whole-1.0.dist-info/METADATA").write_text("Name: whole\nVersion: 1.0\n")
    if metadata is not None:
        (tmp_path / "half-1.0.dist-info/METADATA").write_text(metadata)
    assert list(readable_distributions([str(tmp_path)])) == ["whole"]
