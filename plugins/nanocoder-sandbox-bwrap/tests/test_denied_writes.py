"""Paths that a rule keeps from being changed, in bubblewrap."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_denied_writes import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
def box():
    """Open the sandbox around a workspace."""
    return Bubblewrap
