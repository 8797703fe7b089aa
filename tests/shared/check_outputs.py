"""What the checks of tasks printed, for the report of a test that fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def check_outputs(tmp_path: Path) -> Iterator[None]:
    """Print the outputs of checks after a test; pytest shows them where the test failed."""
    yield
    for path in sorted(tmp_path.rglob("check.txt")):
        print(f"{path.relative_to(tmp_path)}:\n{path.read_text(errors='replace')}")
