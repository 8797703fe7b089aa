"""Virtual environments on PATH that programs in bubblewrap start."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_environments import *  # noqa: F403
from standby_box import ready

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E1")]


@pytest.fixture(params=[Bubblewrap, ready(Bubblewrap)])
def box(request):
    """Open bubblewrap around a workspace; its commands' sandboxes are new, or were ready."""
    return request.param
