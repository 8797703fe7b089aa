"""Landlock around a workspace, for its own tests: as ourselves, and as a user without rights."""

import os
import subprocess

import pytest
from nanocoder import Access
from nanocoder_kit_sandbox.landlock import Landlocked
from sandboxed_place import SYSTEM_PYTHON

NOBODY = 65_534


class LandlockedOfNobody(Landlocked):
    """Landlock as a user without rights starts it."""

    def __init__(self, session, settings):
        """Give the workspace back, for the sandbox is made by root."""
        self.root = session.cwd.parent
        self.give("0:0")
        super().__init__(session, settings)
        self._python = SYSTEM_PYTHON

    def give(self, owner):
        """Make *owner* the one of the workspace and of the session's own files."""
        subprocess.run(["chown", "-R", owner, str(self.root)], check=True)

    def wrap(self, argv, ports, access=Access.WRITE):
        """Return the argv that runs *argv* inside as that user."""
        wrapped = super().wrap(argv, ports, access)
        self.give(f"{NOBODY}:{NOBODY}")
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *wrapped]


@pytest.fixture(params=["ourselves", "nobody"] if os.getuid() == 0 else ["ourselves"])
def box(request):
    """Open Landlock around a workspace; for root also as a user who has no rights."""
    return LandlockedOfNobody if request.param == "nobody" else Landlocked
