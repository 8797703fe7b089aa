"""Processes as the system lists them."""

import os

from nanocoder_kit_process.processes import process


def test_a_process_that_runs_no_more_is_no_dead_one_while_its_files_are_there_still():
    ours = process(os.getpid())
    assert not ours.is_dead
    assert not ours.is_ending
    ending = ours._replace(flags=ours.flags | 0x4)
    assert ending.is_ending
    assert not ending.is_dead
    assert ours._replace(state="Z").is_dead
