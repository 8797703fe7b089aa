"""Whose processes are left behind; that they are ended, and others are not, is tested with bash."""

import os
import subprocess

from nanocoder_kit_process import process_tag as tags
from nanocoder_kit_process.process_tag import ProcessTag, new_tag


def test_what_an_owner_gave_that_is_no_more_is_left_behind():
    with subprocess.Popen(["true"]) as gone:
        pass
    assert ProcessTag(gone.pid, 1, 1).is_orphan
    assert not new_tag().is_orphan


def test_an_owner_that_the_system_hides_is_not_taken_for_gone(monkeypatch):
    # As where /proc is mounted with hidepid and the owner is another user.
    monkeypatch.setattr(tags, "process", lambda _pid: None)
    assert not ProcessTag(os.getpid(), 1, 1).is_orphan
    assert not ProcessTag(1, 1, 1).is_orphan
