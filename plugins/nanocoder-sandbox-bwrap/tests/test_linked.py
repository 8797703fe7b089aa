"""Linked worktrees and submodules in bubblewrap."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_linked import *  # noqa: F403
from sandboxed_place import below_tmp, inside, repository  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
def box():
    """Open the sandbox around a workspace."""
    return Bubblewrap
