"""Landlock around a workspace: as ourselves, and as a user without rights."""

import os

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandbox_of_nobody import OfNobody
from sandboxed_place import SYSTEM_PYTHON


class LandlockedOfNobody(OfNobody, Landlocked):
    """Landlock as a user without rights starts it."""

    def __init__(self, session, settings):
        """Start commands by a Python that every user can read."""
        super().__init__(session, settings)
        self._python = SYSTEM_PYTHON


@pytest.fixture(params=["ourselves", "nobody"] if os.getuid() == 0 else ["ourselves"])
def box(request):
    """Open Landlock around a workspace; for root also as a user who has no rights."""
    return LandlockedOfNobody if request.param == "nobody" else Landlocked
