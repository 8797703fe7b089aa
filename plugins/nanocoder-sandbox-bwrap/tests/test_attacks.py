"""Real programs try to get out of bubblewrap, and to leave something behind."""

import os

import pytest
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_attacks import *  # noqa: F403
from sandbox_forks import test_what_forks_without_end_ends_with_its_call  # noqa: F401
from sandbox_of_nobody import OfNobody

# The attacks are those of PATH-051, PROC-023, PROC-036, PROC-038, PROC-039, PROC-040, PROC-046,
# and PROC-049.
pytestmark = [
    pytest.mark.needs("bwrap"),
    pytest.mark.contract("E1"),
    pytest.mark.contract("E4"),
]


class BubblewrapOfNobody(OfNobody, Bubblewrap):
    """Bubblewrap as a user without rights starts it, for whom the system makes it harder."""

    def __init__(self, session, settings):
        super().__init__(session, settings)
        self._namespaces.enter = lambda *_: []  # they are of root, who started them


BOXES = {"ourselves": Bubblewrap, "nobody": BubblewrapOfNobody}


@pytest.fixture(params=[*BOXES] if os.getuid() == 0 else ["ourselves"])
def box(request):
    """Open bubblewrap around a workspace; for root also as a user without rights."""
    return BOXES[request.param]
