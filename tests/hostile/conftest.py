"""The home in which the cases are played."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _warm_home(tmp_path: Path, warm: Callable[[Path], None]) -> None:
    warm(tmp_path / "home")
