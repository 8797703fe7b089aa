"""Whose processes are left behind; that they are ended, and others are not, is tested with bash."""

import os
import subprocess

from nanocoder_kit_process import brand as brands
from nanocoder_kit_process.brand import Brand, new_brand


def test_what_an_owner_gave_that_is_no_more_is_left_behind():
    with subprocess.Popen(["true"]) as gone:
        pass
    assert Brand(gone.pid, 1, 1).is_orphan
    assert not new_brand().is_orphan


def test_an_owner_that_the_system_hides_is_not_taken_for_gone(monkeypatch):
    # As where /proc is mounted with hidepid and the owner is another user.
    monkeypatch.setattr(brands, "process", lambda _pid: None)
    assert not Brand(os.getpid(), 1, 1).is_orphan
    assert not Brand(1, 1, 1).is_orphan
