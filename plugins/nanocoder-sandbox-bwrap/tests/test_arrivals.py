"""Protected names that programs in bubblewrap make."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_arrivals import *  # noqa: F403
from sandbox_killed import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap
