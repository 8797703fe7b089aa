"""Virtual environments on PATH that programs in Landlock start."""

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandbox_environments import *  # noqa: F403

pytestmark = pytest.mark.contract("E1")


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked
