"""Git in bubblewrap, and what a program inside can leave for a git outside."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_git import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap
