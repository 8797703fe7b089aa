"""Git in bubblewrap, and what a program inside can leave for a git outside."""

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_git import *  # noqa: F403
from sandboxed_place import inside, repository  # noqa: F401
from standby_box import ready

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture(params=[Bubblewrap, ready(Bubblewrap)])
def box(request):
    """Open bubblewrap around a workspace; its commands' sandboxes are new, or were ready."""
    return request.param
