"""Paths of a workspace, and those outside of it."""

import pytest
from nanocoder_kit_sandbox.survey import outermost


@pytest.mark.parametrize("top", ["", "/", "/home/ada/"])
def test_paths_below_others_are_left_out_and_the_order_stays(top):
    names = ["b", "a/b", "ab/c", "a", "a.b/c", "a/b/c", "ab/c/d"]
    outer = [f"{top}{name}" for name in ("b", "ab/c", "a", "a.b/c")]
    assert outermost([f"{top}{name}" for name in names]) == outer
