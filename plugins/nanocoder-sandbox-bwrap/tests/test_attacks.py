"""Real programs try to get out of bubblewrap, and to leave something behind."""

import os
import subprocess

import pytest
from nanocoder import Access
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_attacks import *  # noqa: F403

# The attacks are those of PATH-051, PROC-023, PROC-036, PROC-038, PROC-039, PROC-040, PROC-046,
# and PROC-049.
pytestmark = [
    pytest.mark.needs("bwrap"),
    pytest.mark.contract("E1"),
    pytest.mark.contract("E4"),
]
NOBODY = 65_534


class BubblewrapOfNobody(Bubblewrap):
    """Bubblewrap as a user without rights starts it, for whom the system makes it harder."""

    def __init__(self, session, settings):
        self.root = session.cwd.parent
        self.give("0:0")
        super().__init__(session, settings)
        self._namespaces.enter = lambda *_: []  # they are of root, who started them

    def give(self, owner):
        subprocess.run(["chown", "-R", owner, str(self.root)], check=True)

    def wrap(self, argv, ports, access=Access.WRITE):
        wrapped = super().wrap(argv, ports, access)
        self.give(f"{NOBODY}:{NOBODY}")
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *wrapped]


BOXES = {"ours": Bubblewrap, "nobody": BubblewrapOfNobody}


@pytest.fixture(params=[*BOXES] if os.getuid() == 0 else ["ours"])
def box(request):
    """Open bubblewrap around a workspace; for root also as a user without rights."""
    return BOXES[request.param]
