"""Sandboxes whose commands all run in one that was made before them, for the tests."""

import time

from nanocoder_kit_sandbox.standby import CLIENT
from nanocoder_kit_sandbox.standby_attendant import READY

MOST_S = 40
LOOK_S = 0.002
MOST_TRIES = 8
"""A first command starts what the next ones see, such as a proxy; and others open sockets."""


class Ahead:
    """A sandbox that waits for the one that is made ahead, and takes that."""

    def wrap(self, argv, ports):
        """Return an argument vector that runs *argv* in a sandbox that was ready."""
        return wrap_ahead(super(), self, argv)


def ready(kind):
    """Return the class of sandboxes of one *kind* that are always ready."""
    return type(f"Ready{kind.__name__}", (Ahead, kind), {"kind": kind})


def wrap_ahead(wrapper, box, argv):
    """Have *box* wrap a command by *wrapper* until its sandbox is one that was ready."""
    for _ in range(MOST_TRIES):
        if is_ahead(wrapped := wrapper.wrap(argv, ())):
            return wrapped
        await_ready(box)
    raise AssertionError("no sandbox that was ready could be used")


def is_ahead(argv):
    """Tell whether a command is to run in a sandbox that is ready."""
    return CLIENT in argv


def await_ready(box):
    """Have a sandbox made that is as the last command's, and wait until it is ready."""
    box._standby.prepare()
    until = time.monotonic() + MOST_S
    while not box._standby._path(READY).exists():
        assert time.monotonic() < until
        time.sleep(LOOK_S)
