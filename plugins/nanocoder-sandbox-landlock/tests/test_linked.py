"""Linked worktrees and submodules in Landlock."""

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandbox_linked import *  # noqa: F403
from sandboxed_place import below_tmp, inside, repository  # noqa: F401


@pytest.fixture
def box():
    """Open the sandbox around a workspace."""
    return Landlocked
