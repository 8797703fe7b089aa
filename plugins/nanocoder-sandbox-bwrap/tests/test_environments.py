"""Virtual environments on PATH that programs in bubblewrap start."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_environments import *  # noqa: F403

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E1")]


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap
