"""Processes as the system lists them."""

import os

from nanocoder_kit_process.processes import process


def test_a_process_that_runs_no_more_is_dead_though_its_memory_is_there_still():
    ours = process(os.getpid())
    assert not ours.is_dead
    assert ours._replace(flags=ours.flags | 0x4).is_dead
    assert ours._replace(state="Z").is_dead
